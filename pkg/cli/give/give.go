// Package give implements the verb give.
package give

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

type flags struct {
	target         target.Flags
	to, as         string
	from           []string
	share, release bool
	helmRelease    string
	chartOutput    string
	inventoryOf    string
	move           moveFlags
	others         others.Flags
	config         config.Flags
	dryRun         string
	output         string
}

type options struct {
	scope
	others others.Flags
	// moves means that whole objects move from one owner to another.
	moves    bool
	from, to party
	// allowNew means that the new owner may not exist yet.
	allowNew bool
	engine   give.Engine
	run      string
	out      *printer.Printer
}

// New returns the verb give.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags flags
	cmd := &cobra.Command{
		Use:   "give (TYPE/NAME… | -f FILE) [PATH…] --to=MANAGER",
		Short: "Change who owns fields, and nothing else",
		Long: `Move fields from their owner to another field manager, share them, or release
them. Only metadata.managedFields is written: values, the generation and other
owners do not change. After a concurrent write, the command tries again.

A PATH includes everything below it. Without a PATH, the command moves all
fields that the managers in --from own. If a path has several owners, --from
selects the owners that give it up.

With -f or --helm-release, the command knows what the receiver applies. It shows
the conflicts of the receiver's next apply, before and after the move. Without a
PATH, it skips fields that this apply would remove. --helm-release reads the
stored manifest; with --chart-output, it reads the next one. With --inventory-of
or --helm-release, -f names the manifests of the tool's next run.

--from-release, --from-inventory and --from-set move whole objects to another
release, tool or set. Then the command also writes the marks of both.

Exit status: 0 ownership given, 1 refused or the receiver's next apply still
conflicts, 2 could not tell.`,
		Example: `  # helm upgrade conflicts with fields that kubectl apply once wrote
  kubectl k8sconnect give --helm-release=shop/web \
    --from=kubectl-client-side-apply

  # The same for the next version of the chart
  helm upgrade web ./chart -n shop --dry-run=server |
    kubectl k8sconnect give --helm-release=shop/web --chart-output=- \
    --from=kubectl-client-side-apply

  # The chart no longer sets replicas: keep the autoscaler's value
  kubectl k8sconnect give deploy/web .spec.replicas \
    --from=helm --to=kube-controller-manager

  # A Flux HelmRelease conflicts with a hotfix
  kubectl k8sconnect give --inventory-of=helmrelease/shop/web \
    --from=kubectl-edit

  # The same for a Kustomization; also show what its next run would do
  flux build kustomization apps --path=./apps |
    kubectl k8sconnect give --inventory-of=kustomization/flux-system/apps \
    --from=kubectl-edit -f -

  # Let Flux own a hotfix together with its author
  kubectl k8sconnect give deploy/web --share --to=flux \
    '.spec.template.spec.containers[name="web"].image'

  # Move an object to another release; neither deletes it
  kubectl k8sconnect give deploy/web --from-release=shop/old \
    --to-release=shop/new

  # Preview which fields would change owners
  kubectl k8sconnect give deploy -A --all --from=kubectl-edit --to=helm \
    --dry-run=server`,
		ValidArgsFunction: completion.TargetsAndPaths(c),
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	flags.add(cmd)
	for _, flag := range []string{"inventory-of", "from-inventory", "to-inventory"} {
		help.Complete(cmd, flag, completion.Inventories(c))
	}
	for _, flag := range []string{"helm-release", "from-release", "to-release"} {
		help.Complete(cmd, flag, completion.ReleasesOfAll(c))
	}
	for _, flag := range []string{"to", "from"} {
		help.Complete(cmd, flag, completion.Managers(c))
	}
	return cmd
}

func (f *flags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "Field manager that receives the fields; with --helm-release or --inventory-of, the default is the tool's field manager")
	flags.StringSliceVar(&f.from, "from", nil, "Field managers that own the fields now. Repeatable")
	flags.StringVar(&f.as, "as-operation", "",
		"apply or update: how the receiver writes, if it owns nothing in the object yet. With apply, the receiver's next apply removes fields that its manifest does not set")
	flags.BoolVar(&f.share, "share", false, "Let the current owners keep the fields too")
	flags.BoolVar(&f.release, "release", false, "Leave the fields without an owner: the next manager to apply them becomes their owner without a conflict")
	flags.StringVar(&f.helmRelease, "helm-release", "", "Objects of a Helm release, NAMESPACE/NAME; read from its Secret or ConfigMap")
	flags.StringVar(&f.chartOutput, helmrelease.ChartOutputFlag, "",
		"File, or - for stdin, with the output of helm template or helm upgrade --dry-run: the objects of the next upgrade, instead of the stored manifest. Requires --helm-release")
	flags.StringVar(&f.inventoryOf, "inventory-of", "",
		"Objects that KIND/NAMESPACE/NAME applies: a Flux Kustomization or HelmRelease, or an Argo CD Application")
	f.move.add(flags)
	f.target.Add(cmd)
	f.config.Add(cmd)
	f.others.Add(cmd)
	verb.DryRunFlag(flags, &f.dryRun, "none, server (ask the server what would happen) or client (only read what exists)")
	verb.OutputFlag(cmd, &f.output, printer.Formats(printer.OfGive), "")
	help.Words(cmd, "as-operation", "apply", "update")
}

func (f *flags) toOptions(in verb.Invocation) (*options, error) {
	names, paths, pathErr := pathsAmong(in.Args)
	o := &options{}
	selection, receiver, targetsErr := f.toScope(names, in)
	o.scope = selection
	var wish transfer.Wish
	var wishErr, moveErr error
	if o.moves = f.move.given(); o.moves {
		o.from, o.to, moveErr = f.move.parties()
		moveErr = errors.Join(moveErr, f.checkMove())
		if len(paths) > 0 {
			pathErr = errors.New("a move takes whole objects, not a PATH")
		}
	} else {
		wish, wishErr = f.wish(paths, receiver)
	}
	if err := f.move.check(); err != nil {
		moveErr, wishErr = err, nil // Other errors of these flags would only follow from it.
	}
	files := selection.targets.Files.Files
	_, settingsErr := f.config.Read(in, files.Filenames, files.Kustomize)
	dryRun, dryRunErr := verb.DryRunOf(f.dryRun)
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	print.DryRun = dryRun != object.DryRunNone
	out, outErr := printer.For(printer.OfGive, print)
	o.engine = give.Engine{Wish: wish, DryRun: dryRun, Lenient: len(o.targets.Named) == 0}
	o.run, o.out = print.Run, out
	o.others, o.allowNew = f.others, f.move.allowNew
	return o, errors.Join(targetsErr, pathErr, moveErr, settingsErr, f.others.Check(), wishErr, dryRunErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

// scope returns the selection of objects whose fields change owners, and the field manager that
// applies these objects. The manager is empty if it is unknown.
func (f *flags) toScope(names []string, in verb.Invocation) (scope, string, error) {
	others := len(names) > 0 || f.target.Selector != "" || f.target.Fields != "" || f.target.All || f.target.AllNamespaces
	// Files given together with an inventory are the manifests that the tool will apply next.
	next := func() (target.Targets, error) {
		if len(f.target.Filenames) == 0 && f.target.Kustomize == "" {
			return target.Targets{}, nil
		}
		return f.target.ToTargets(nil, in.Streams)
	}
	switch {
	case f.helmRelease != "" && f.inventoryOf != "":
		return scope{}, "", errors.New("--helm-release and --inventory-of cannot be combined")
	case f.helmRelease != "" && others:
		return scope{}, "", errors.New("--helm-release can only be combined with -f, the manifests of the next upgrade")
	case f.chartOutput != "" && f.helmRelease == "":
		return scope{}, "", errors.New("--chart-output requires --helm-release")
	case f.chartOutput != "" && (len(f.target.Filenames) > 0 || f.target.Kustomize != ""):
		return scope{}, "", errors.New("--chart-output and -f cannot be combined")
	case f.inventoryOf != "" && others:
		return scope{}, "", errors.New("--inventory-of can only be combined with -f, the manifests of the next run")
	case f.helmRelease != "":
		named, err := parseRelease("--helm-release", f.helmRelease)
		if err != nil {
			return scope{}, "", err
		}
		files, err := next()
		s := scope{targets: files, release: named}
		if f.chartOutput != "" {
			s.chart = helmrelease.Open(f.chartOutput, in.Streams.In)
		}
		return s, inventory.Manager, err
	case f.inventoryOf != "":
		of, err := inventory.Parse(f.inventoryOf)
		if err != nil {
			return scope{}, "", verb.FlagError("--inventory-of", err)
		}
		files, err := next()
		return scope{targets: files, inventory: &of}, of.Manager(), err
	}
	targets, err := f.target.ToTargets(names, in.Streams)
	return scope{targets: targets}, "", err
}

// wish returns the transfer that the flags describe. receiver gets the fields if the flags name no
// manager.
func (f *flags) wish(paths []fieldpath.Path, receiver string) (transfer.Wish, error) {
	w := transfer.Wish{Paths: paths, From: f.from, To: f.to, Mode: transfer.Move}
	w.To = cmp.Or(w.To, receiver)
	switch {
	case f.share && f.release:
		return w, errors.New("--share and --release cannot be combined")
	case f.release && f.to != "":
		return w, errors.New("--release and --to cannot be combined: --release has no receiver")
	case f.release:
		w.Mode, w.To = transfer.Release, ""
	case f.share:
		w.Mode = transfer.Share
	}
	switch f.as {
	case "":
	case "apply":
		w.As = managedfields.Apply
	case "update":
		w.As = managedfields.Update
	default:
		return w, fmt.Errorf("--as-operation must be apply or update, not %q", f.as)
	}
	switch {
	case w.Mode != transfer.Release && w.To == "":
		return w, &object.HintedError{Err: errors.New("no receiver named"), Advice: "name it with --to=MANAGER, or use --release"}
	case w.To == redact.Mask:
		return w, errors.New("--to=" + redact.Mask + " represents a hidden value: name a field manager")
	case slices.Contains(f.from, ""):
		return w, errors.New("--from is empty")
	case len(w.Paths) == 0 && len(w.From) == 0:
		return w, object.Hinted("name paths such as .spec.replicas, or use --from=MANAGER to give everything that a manager owns; "+command.Kubectl("k8sconnect", "owners")+" shows both",
			"no fields named")
	}
	return w, nil
}

// pathsAmong separates paths, which begin with a dot, from names.
func pathsAmong(args []string) (names []string, paths []fieldpath.Path, err error) {
	for _, arg := range args {
		if !strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "./") {
			names = append(names, arg)
			continue
		}
		p, fault := fieldpath.ParsePath(arg)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", arg, fault))
			continue
		}
		paths = append(paths, p)
	}
	return names, paths, err
}

func (o *options) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.give(ctx, in)
	return verb.Finish(err, o.out.Close(ctx))
}

func (o *options) give(ctx context.Context, in verb.Invocation) error {
	if o.targets.InFiles {
		if err := o.targets.Files.Read(ctx, in.Connection, in.Streams, o.out.Print); err != nil {
			return err
		}
	}
	client, err := in.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	if o.moves {
		return o.move(ctx, in.Connection, client)
	}
	targets, err := o.resolve(ctx, in.Connection, client, o.out.Print)
	if err != nil {
		return err
	}
	if o.inventory != nil && len(targets) > 0 && targets[0].Declared == nil && o.engine.Wish.Mode != transfer.Release {
		o.out.Print(event.Warned{Text: o.unseen()})
	}
	// Warnings that concern all objects follow the results.
	released := false
	claimed := others.Collector{Absent: others.Absent(ctx, client)}
	if o.others.Refuses() {
		o.engine.Admit = func(live *unstructured.Unstructured) error { return others.Refusal(live, o.engine.Wish.To) }
	}
	o.engine.OnGive = claimed.Given
	o.engine.BeforeWrites = func() { claimed.Warn(o.out.Print) }
	o.engine.Server, o.engine.Reader = client, client
	o.engine.Emit = func(e event.Event) {
		given, ok := e.(event.Given)
		released = released || ok && given.Action == event.Handed && o.engine.Wish.Mode == transfer.Release
		o.out.Print(e)
	}
	err = o.engine.Run(ctx, targets)
	if released && o.engine.DryRun == object.DryRunNone {
		o.out.Print(event.Warned{Text: "released fields keep their values but have no owner: the next apply that sets one overwrites it without a conflict"})
	}
	return err
}

// unseen returns the warning that the tool's next manifests are unknown.
func (o *options) unseen() string {
	message := fmt.Sprintf("the effect on the next run of %s cannot be shown, because its manifests are not in the cluster", o.inventory)
	if len(o.engine.Wish.Paths) == 0 {
		message += fmt.Sprintf("; that run will remove the fields received by %s unless the manifests set them", o.engine.Wish.To)
	}
	return message + ". To show the effect, add -f - and pipe the manifests in: " + o.inventory.Render()
}
