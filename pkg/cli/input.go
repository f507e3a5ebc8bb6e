package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// input is the flags of verbs that read manifests.
type input struct {
	filenames      []string
	recursive      bool
	kustomize      string
	selector       string
	skipNonObjects bool
	skipInvalid    bool
	helmHooks      string
}

// inputOptions is what those flags mean.
type inputOptions struct {
	files manifest.Options
	// typed: somebody types the manifests, and nothing may come in between.
	typed     bool
	scope     plan.Options
	manifests []object.Manifest
	warnings  []manifest.Warning
	// invalid are the faults of what was left out with --skip-invalid.
	invalid []error
	// hooks are those of Helm that were left out.
	hooks []manifest.Hook
}

func (f *input) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.filenames, "filename", "f", nil, "File, folder or URL with manifests; - is standard input. Repeatable")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "Look into folders below the folders named with -f")
	flags.StringVarP(&f.kustomize, "kustomize", "k", "", "Folder of a kustomization")
	flags.StringVarP(&f.selector, "selector", "l", "", "Only objects whose labels match, such as app=web,tier!=cache")
	flags.BoolVar(&f.skipNonObjects, "skip-non-objects", false,
		"Leave out files of a folder that hold no Kubernetes object, and say which")
	flags.BoolVar(&f.skipInvalid, "skip-invalid", false,
		"Leave out objects that are broken, or there twice with different content, say which, do the rest, and exit with 1")
	flags.StringVar(&f.helmHooks, "helm-hooks", "skip",
		"Hooks of a rendered Helm chart: skip (and say which), apply (as objects) or error")
	// They only fail for a flag that there is not.
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.MarkFlagDirname("kustomize")
	help.Words(cmd, "helm-hooks", "skip", "apply", "error")
}

func (f *input) toOptions(streams genericiooptions.IOStreams) (inputOptions, error) {
	if len(f.filenames) == 0 && f.kustomize == "" {
		return inputOptions{}, errors.New("nothing to read: give -f FILENAME or -k DIRECTORY")
	}
	hooks, err := hooksOf(f.helmHooks)
	return inputOptions{
		files: manifest.Options{
			Filenames: filenames(f.filenames), Recursive: f.recursive, Kustomize: f.kustomize,
			Selector: f.selector, SkipNonObjects: f.skipNonObjects, SkipInvalid: f.skipInvalid, Hooks: hooks, In: streams.In,
		},
		scope: plan.Options{SkipInvalid: f.skipInvalid},
		typed: slices.Contains(f.filenames, "-") && isTerminal(streams.In),
	}, err
}

// filenames splits what -f was given at commas, as kubectl does, but leaves whole
// what is there under its whole name, and URLs, which may well have commas.
func filenames(given []string) []string {
	var all []string
	for _, name := range given {
		_, err := os.Stat(name)
		if err == nil || strings.Contains(name, "://") && !strings.Contains(name, ",http") {
			all = append(all, name)
			continue
		}
		all = append(all, strings.Split(name, ",")...)
	}
	return all
}

// errBroken ends the faults of an input that also holds sound objects.
var errBroken error = &object.HintedError{
	Err:    errors.New("nothing was done: fix the input first"),
	Advice: "--skip-invalid leaves out what is at fault, and does the rest",
}

// read reads the manifests, and says on stderr which files hold none; what keeps it
// waiting is told by emit. The error has every fault that can be found without a server.
func (o *inputOptions) read(ctx context.Context, c *connection.Connection, streams genericiooptions.IOStreams, emit func(event.Event)) error {
	if err := c.ExpectedContext(); err != nil {
		return err
	}
	o.files.Secrets = c.Vault
	if !o.typed {
		emit(event.Preparing{Text: "reading the manifests"})
		o.files.Tell = func(what string, since time.Time, within time.Duration) {
			emit(event.Waiting{For: what, Since: since, Within: within})
		}
	}
	result, err := manifest.Read(ctx, o.files)
	if err != nil && ctx.Err() == nil {
		scope := o.scope
		scope.Namespace, scope.Enforced, _ = c.Namespace() // Whether the kubeconfig is sound is not the question yet.
		faults := plan.Faults(result.Objects, scope)
		if len(result.Objects) > 0 && len(result.Invalid)+len(faults) > 0 {
			faults = append(faults, errBroken)
		}
		return errors.Join(append([]error{err}, faults...)...)
	}
	if err != nil {
		return err
	}
	for _, skipped := range result.Skipped {
		fmt.Fprintf(streams.ErrOut, "skipped %s\n", layout.Plain(skipped.Source.String()+": "+skipped.Reason))
	}
	o.manifests, o.warnings, o.invalid, o.hooks = result.Objects, result.Warnings, result.Invalid, result.Hooks
	return nil
}

// plan is order for verbs that write fields, or tell what writing would do: they wait
// for kinds whose definitions somebody has just applied. Choices that no object of the
// plan is meant by are an error.
func (o *inputOptions) plan(
	ctx context.Context, c *connection.Connection, client *cluster.Client, choices predict.Predictor, emit func(event.Event),
) (*plan.Plan, error) {
	p, err := o.arrange(c, emit, func() (map[schema.GroupVersionKind]object.Kind, error) {
		known, err := kinds(ctx, client, o.manifests)
		if err == nil {
			err = upcoming(ctx, client, o.unexplained(known), known, emit)
		}
		return known, err
	})
	if err != nil {
		return nil, err
	}
	return p, checkChoices(p, choices, emit)
}

// unexplained returns the kinds of the manifests that the cluster does not serve, and
// that nothing among the manifests may bring.
func (o *inputOptions) unexplained(known map[schema.GroupVersionKind]object.Kind) []schema.GroupVersionKind {
	if !slices.ContainsFunc(o.manifests, func(m object.Manifest) bool { return known[m.Object.GroupVersionKind()].Resource == "" }) {
		return nil
	}
	scope := o.scope
	scope.Kinds = known
	p, err := plan.Build(o.manifests, scope)
	if err != nil {
		return nil // That is told before any kind matters.
	}
	missing := map[schema.GroupVersionKind]bool{}
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			if it.Kind.Resource == "" && len(it.Bringers)+len(it.OnlyIn) == 0 && !plan.Builtin(it.GVK.Group) {
				missing[it.GVK] = true
			}
		}
	}
	return slices.Collect(maps.Keys(missing))
}

// upcoming waits for kinds that are defined but not served yet, and adds them to the
// known ones.
func upcoming(
	ctx context.Context, client *cluster.Client, missing []schema.GroupVersionKind, known map[schema.GroupVersionKind]object.Kind, emit func(event.Event),
) error {
	found, err := askAll(missing, func(gvk schema.GroupVersionKind) (object.Kind, error) {
		return client.Upcoming(ctx, gvk, func(definition string) {
			emit(event.Waiting{For: gvk.Kind + " to be served, as customresourcedefinition/" + definition + " says it will be"})
		})
	})
	maps.Copy(known, found)
	return err
}

// incomplete is the end of a run that left something out: what it says of the rest,
// or a no.
func (o *inputOptions) incomplete(end error) error {
	if end == nil && len(o.invalid) > 0 {
		return errNo
	}
	return end
}

// order asks the cluster for the kinds of the manifests and puts them in order.
func (o *inputOptions) order(ctx context.Context, c *connection.Connection, client *cluster.Client, emit func(event.Event)) (*plan.Plan, error) {
	return o.arrange(c, emit, func() (map[schema.GroupVersionKind]object.Kind, error) { return kinds(ctx, client, o.manifests) })
}

// arrange puts the manifests in order by what kinds tells of theirs.
func (o *inputOptions) arrange(
	c *connection.Connection, emit func(event.Event), kinds func() (map[schema.GroupVersionKind]object.Kind, error),
) (*plan.Plan, error) {
	for _, w := range o.warnings {
		emit(event.Warned{Ref: w.Ref, Text: w.Text + " (" + w.Source.String() + ")"})
	}
	if len(o.hooks) > 0 {
		emit(hooksLeftOut(o.hooks))
	}
	var err error
	if o.scope.Namespace, o.scope.Enforced, err = c.Namespace(); err != nil {
		return nil, err
	}
	if o.scope.Kinds, err = kinds(); err != nil {
		return nil, err
	}
	p, err := plan.Build(o.manifests, o.scope)
	if _, circle := errors.AsType[*plan.CycleError](err); err != nil && !circle {
		err = errors.Join(err, errBroken)
	}
	if err != nil {
		return nil, err
	}
	o.manifests = nil // The plan has them now.
	o.invalid = append(o.invalid, p.Invalid...)
	for _, fault := range o.invalid {
		emit(event.LeftOut{Err: fault})
	}
	for _, w := range p.Warnings {
		emit(event.Warned{Ref: w.Ref, Text: w.Text})
	}
	return p, nil
}

// kinds asks how the cluster serves each kind of the manifests. What it does not serve
// is left out: perhaps the set defines it.
func kinds(ctx context.Context, client *cluster.Client, manifests []object.Manifest) (map[schema.GroupVersionKind]object.Kind, error) {
	meant := map[schema.GroupVersionKind]bool{}
	for _, m := range manifests {
		meant[m.Object.GroupVersionKind()] = true
	}
	return askAll(slices.Collect(maps.Keys(meant)), func(gvk schema.GroupVersionKind) (object.Kind, error) {
		return client.Kind(ctx, gvk)
	})
}

// askAll asks for kinds side by side, and leaves out those that are not served, or of which
// that cannot be told.
func askAll(
	gvks []schema.GroupVersionKind, ask func(schema.GroupVersionKind) (object.Kind, error),
) (map[schema.GroupVersionKind]object.Kind, error) {
	var (
		mu    sync.Mutex
		group errgroup.Group
		known = map[schema.GroupVersionKind]object.Kind{}
	)
	for _, gvk := range gvks {
		group.Go(func() error {
			kind, err := ask(gvk)
			if errors.As(err, new(*cluster.NoKindError)) || errors.As(err, new(*cluster.UntoldKindError)) {
				return nil // Who needs it asks again, and tells why.
			}
			mu.Lock()
			defer mu.Unlock()
			known[gvk] = kind
			return err
		})
	}
	return known, group.Wait()
}
