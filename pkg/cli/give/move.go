package give

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give/move"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// moveFlags name the old and the new owner of whole objects.
type moveFlags struct {
	fromRelease, toRelease, fromInventory, toInventory, fromSet, toSet string
	// allowNew means that the new owner may not exist yet.
	allowNew bool
}

func (f *moveFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.fromRelease, "from-release", "", "Helm release, NAMESPACE/NAME, from which to move whole objects. Requires one of the flags --to-release, --to-inventory and --to-set")
	flags.StringVar(&f.toRelease, "to-release", "", "Helm release, NAMESPACE/NAME, that receives the objects")
	flags.StringVar(&f.fromInventory, "from-inventory", "", "Flux or Argo CD object, KIND/NAMESPACE/NAME, from which to move whole objects")
	flags.StringVar(&f.toInventory, "to-inventory", "", "Flux or Argo CD object, KIND/NAMESPACE/NAME, that receives the objects")
	flags.StringVar(&f.fromSet, "from-set", "", "Set, [KIND[.GROUP]/]NAME as in apply --apply-set, from which to move whole objects")
	flags.StringVar(&f.toSet, "to-set", "", "Set, [KIND[.GROUP]/]NAME as in apply --apply-set, whose next apply receives the objects")
	flags.BoolVar(&f.allowNew, "allow-new", false, "Let --to-release or --to-set name a release or set that does not exist yet. Without it, a misspelt name is refused")
}

// party is the old or the new owner: a Helm release, an object with an inventory, or a set.
type party struct {
	release   *inventory.Release
	inventory *inventory.Of
	set       string
}

// given reports whether the flags name an owner of whole objects.
func (f *moveFlags) given() bool { return *f != moveFlags{allowNew: f.allowNew} }

// check returns an error if --allow-new has no receiver that could be new.
func (f *moveFlags) check() error {
	if f.allowNew && f.toRelease == "" && f.toSet == "" {
		return errors.New("--allow-new requires --to-release or --to-set")
	}
	return nil
}

// parties returns the old and the new owner. It reports the faults of both together.
func (f *moveFlags) parties() (from, to party, err error) {
	parse := func(flag, release, of, set string) (party, error) {
		switch {
		case release != "" && of != "", set != "" && release+of != "":
			return party{}, fmt.Errorf("only one of --%s-release, --%s-inventory and --%s-set can be used", flag, flag, flag)
		case set != "":
			_, _, err := applyset.ParseName(set)
			return party{set: set}, verb.FlagError("--"+flag+"-set", err)
		case release != "":
			named, err := parseRelease("--"+flag+"-release", release)
			return party{release: named}, err
		case of != "":
			parsed, err := inventory.Parse(of)
			if err != nil {
				return party{}, fmt.Errorf("--%s-inventory: %w", flag, err)
			}
			return party{inventory: &parsed}, nil
		}
		return party{}, fmt.Errorf("to move an object, name its old and its new owner: one of --%s-release, --%s-inventory and --%s-set is missing", flag, flag, flag)
	}
	from, fromErr := parse("from", f.fromRelease, f.fromInventory, f.fromSet)
	to, toErr := parse("to", f.toRelease, f.toInventory, f.toSet)
	if err := errors.Join(fromErr, toErr); err != nil {
		return from, to, err
	}
	if f.fromRelease != "" && f.fromRelease == f.toRelease || f.fromInventory != "" && f.fromInventory == f.toInventory {
		return from, to, errors.New("the old and the new owner are the same")
	}
	if from.set != "" && to.set != "" {
		return from, to, object.Hinted("apply the objects with --apply-set="+text.ShellQuote(to.set)+" --allow-join, then remove them from the manifests of the old set",
			"a move between two sets needs no give")
	}
	return from, to, nil
}

// parseRelease parses NAMESPACE/NAME.
func parseRelease(flag, given string) (*inventory.Release, error) {
	namespace, name, ok := strings.Cut(given, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, object.Hinted("helm list -A shows the namespace and the name", "%s=%s: not NAMESPACE/NAME", flag, given)
	}
	return &inventory.Release{Namespace: namespace, Name: name}, nil
}

// claim returns the claim on an object of the party; it is empty for a set.
func (p party) claim() applyset.Claim {
	switch {
	case p.release != nil:
		return applyset.Claim{Of: "Helm release", Name: p.release.Namespace + "/" + p.release.Name}
	case p.inventory != nil:
		tool := "Flux "
		if p.inventory.Kind().Kind == "Application" {
			tool = "Argo CD "
		}
		return applyset.Claim{Of: tool + p.inventory.Kind().Kind, Name: p.inventory.Namespace + "/" + p.inventory.Name}
	}
	return applyset.Claim{}
}

// tool returns what a move needs to know about a party.
func (p party) tool(ctx context.Context, c *connection.Connection, server *client.Client, isNew bool) (move.Tool, error) {
	switch {
	case p.inventory != nil:
		return p.ofInventory(ctx, c, server, isNew)
	case p.set != "":
		return p.ofSet(ctx, c, server, isNew)
	}
	out, err := helmTool(ctx, c, server, *p.release)
	if errors.As(err, new(*helmrelease.NotFoundError)) {
		out.Absent = true // A new one will be installed; an old one has left only its marks.
		return out, nil
	}
	return out, err
}

func helmTool(ctx context.Context, c *connection.Connection, server *client.Client, named inventory.Release) (move.Tool, error) {
	out := move.Tool{
		Name: "Helm release " + named.Namespace + "/" + named.Name, Manager: inventory.Manager, Operation: managedfields.Apply,
		Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		Annotations: map[string]string{"meta.helm.sh/release-name": named.Name, "meta.helm.sh/release-namespace": named.Namespace},
		Keep:        "helm.sh/resource-policy", KeepValue: "keep", Lists: func(object.Ref) bool { return false },
	}
	revisions, err := helmrelease.Find(ctx, server, named)
	if err != nil {
		return out, err
	}
	if busy, err := inventory.Decode(revisions.Last); err == nil || errors.Is(err, inventory.ErrNoManifest) {
		if err := helmrelease.Refused(busy); err != nil {
			return out, fmt.Errorf("%s: %w", out.Name, err)
		}
	}
	// Helm deletes what its base revision lists and the next manifest lacks.
	release, err := inventory.Decode(revisions.Base())
	empty := errors.Is(err, inventory.ErrNoManifest)
	if err != nil && !empty {
		return out, err
	}
	if !release.Applies() {
		out.Operation = managedfields.Update
	}
	if empty {
		return out, nil
	}
	objects, err := helmrelease.Objects(ctx, server, c.Vault, release)
	if err != nil {
		return out, fmt.Errorf("the manifest of %s: %w", out.Name, err)
	}
	listed := map[object.Key]bool{}
	for _, o := range objects {
		listed[o.Ref.Key()] = true
	}
	out.Lists = func(ref object.Ref) bool { return listed[ref.Key()] }
	return out, nil
}

func (p party) ofInventory(ctx context.Context, c *connection.Connection, server *client.Client, isNew bool) (move.Tool, error) {
	of := *p.inventory
	kind, err := kindOf(ctx, server, of)
	if err != nil {
		return move.Tool{}, err
	}
	ref := object.Ref{GVK: kind.GVK, Namespace: of.Namespace, Name: of.Name}
	live, err := server.Get(ctx, kind, ref)
	if err != nil {
		return move.Tool{}, fmt.Errorf("%s: %w", of, target.Explained(ctx, server, ref, err))
	}
	contents, err := of.Read(live)
	if err != nil && !isNew {
		return move.Tool{}, err
	}
	out := move.Tool{Name: of.String(), Manager: of.Manager(), Operation: managedfields.Apply}
	if contents.Release != nil {
		out, err = helmTool(ctx, c, server, *contents.Release)
		out.Absent = isNew && errors.As(err, new(*helmrelease.NotFoundError))
		if err != nil && !out.Absent {
			return out, err
		}
		out.Name, out.Manager = of.String(), of.Manager()
		out.Labels["helm.toolkit.fluxcd.io/name"], out.Labels["helm.toolkit.fluxcd.io/namespace"] = of.Name, of.Namespace
		return out, nil
	}
	listed := map[object.Key]bool{}
	for _, ref := range contents.Objects {
		listed[ref.Key()] = true
	}
	out.Lists = func(ref object.Ref) bool { return listed[ref.Key()] }
	switch of.Kind().Kind {
	case "Kustomization":
		out.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": of.Name, "kustomize.toolkit.fluxcd.io/namespace": of.Namespace}
		out.Keep, out.KeepValue = "kustomize.toolkit.fluxcd.io/prune", "disabled"
	case "Application":
		name := of.Name
		if of.Namespace != "argocd" { // Argo CD adds the namespace if it is not its own, which usually has this name.
			name = of.Namespace + "_" + name
		}
		out.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": name + ":OBJECT"}
		out.Keep, out.KeepValue, out.KeepList = "argocd.argoproj.io/sync-options", "Prune=false", true
		out.Joins = true
	}
	return out, nil
}

// move moves whole objects, and prints what is left to do in the sources.
func (o *options) move(ctx context.Context, c *connection.Connection, server *client.Client) error {
	from, err := o.from.tool(ctx, c, server, false)
	if err != nil {
		return err
	}
	to, err := o.to.tool(ctx, c, server, true)
	if err != nil {
		return err
	}
	if to.Absent {
		if err := o.receiver(ctx, c, server, &to); err != nil {
			return err
		}
	}
	found, err := o.resolve(ctx, c, server, o.out.Print)
	if err != nil {
		return err
	}
	targets := make([]move.Target, len(found))
	for i, t := range found {
		targets[i] = move.Target{Kind: t.Kind, Ref: t.Ref}
	}
	claimed := others.Collector{Absent: others.Absent(ctx, server)}
	kept := map[object.Ref]bool{}
	e := &move.Engine{
		Server: server, From: from, To: to, DryRun: o.engine.DryRun, Emit: o.out.Print,
		Admit: func(live *unstructured.Unstructured) error {
			third := others.Without(others.ClaimsOf(live), o.from.claim(), o.to.claim())
			if len(third) > 0 && o.others.Refuses() {
				return others.Refused(third[0])
			}
			claimed.Moved(live, third)
			return nil
		},
		OnPlan: func(live *unstructured.Unstructured, moves bool) {
			kept[object.RefOf(live)] = from.Absent && (move.IsKept(live) || moves && live.GetAnnotations()[from.Keep] != from.KeepValue)
		},
		BeforeWrites: func() { claimed.WarnMoved(o.out.Print) },
	}
	open, err := e.Run(ctx, targets)
	if from.Absent {
		open = slices.DeleteFunc(open, func(ref object.Ref) bool { return to.Lists(ref) && !kept[ref] })
	}
	if len(open) > 0 && ctx.Err() == nil {
		o.out.Print(event.Warned{Text: left(open, e, kept)})
	}
	return err
}

// receiver returns an error if the new owner, which does not exist, was not announced as new: its name is
// probably misspelt. It adds the name that the user may have intended to the tool.
func (o *options) receiver(ctx context.Context, c *connection.Connection, server *client.Client, to *move.Tool) error {
	namespace, _, err := c.Namespace()
	if err != nil {
		return err
	}
	see := command.Kubectl("k8sconnect", "sets") + " -A shows all sets"
	switch {
	case o.to.inventory != nil:
		return nil // The HelmRelease exists, and will install the release.
	case o.to.release != nil:
		to.Similar = similar(ctx, server, *o.to.release, o.from.release)
		namespace, see = o.to.release.Namespace, "helm list -A shows all releases"
	}
	if missing := target.MissingNamespace(ctx, server, namespace); missing != "" {
		return object.Hinted("if the name is right, create the namespace first", "%s: %s", to.Name, missing)
	}
	if o.allowNew {
		return nil
	}
	if to.Similar != "" {
		see = "did you mean " + to.Similar + "? " + see
	}
	return object.Hinted(see+"; if it will be created later, add --allow-new", "%s does not exist", to.Name)
}

// similar returns the installed release whose name is most like that of one that is not; "" if there is
// none, or releases cannot be listed. The old release is not suggested.
func similar(ctx context.Context, server *client.Client, absent inventory.Release, old *inventory.Release) string {
	var names []string
	for _, place := range helmrelease.Places() {
		kind, err := server.Kind(ctx, place.Kind)
		if err != nil {
			return ""
		}
		which := object.Selection{Namespace: absent.Namespace, Labels: "owner=helm,status!=uninstalled", Fields: place.Fields}
		_ = server.Metadata(ctx, kind, which, func(u *unstructured.Unstructured) {
			one := inventory.Release{Namespace: u.GetNamespace(), Name: u.GetLabels()["name"]}
			if one.Name != "" && (old == nil || one != *old) {
				names = append(names, one.Name)
			}
		})
	}
	slices.Sort(names)
	if name := text.Nearest(absent.Name, names); name != "" {
		return absent.Namespace + "/" + name
	}
	return ""
}

// left returns what the user must do in the sources of both tools.
func left(open []object.Ref, e *move.Engine, kept map[object.Ref]bool) string {
	const shown = 3
	from, to := e.From, e.To
	names := make([]string, len(open))
	for i, ref := range open {
		names[i] = ref.String()
	}
	listed := text.List(names, shown)
	var todo []string
	some := func(lists bool, tool move.Tool) bool {
		for _, ref := range open {
			if tool.Lists(ref) == lists {
				return true
			}
		}
		return false
	}
	if from.Keep == "" { // An apply of the set would refuse the objects, and one by kubectl would take them back.
		todo = append(todo, "remove them from the manifests of "+from.Name+" before its next apply")
	}
	if some(false, to) {
		add := "add them to the source of " + to.Name + " and let it run"
		switch {
		case to.Absent && to.Joins:
			add = "apply " + to.Name + ", which does not exist yet, with them in its manifests"
		case to.Absent:
			add = "install " + to.Name + ", which does not exist yet"
			if to.Similar != "" {
				add += " (did you mean " + to.Similar + "?)"
			}
			add += ", with them in its chart"
		}
		todo = append(todo, add)
	}
	switch {
	case from.Absent:
		if i := slices.IndexFunc(open, func(ref object.Ref) bool { return kept[ref] }); i >= 0 {
			todo = append(todo, "remove the annotation that keeps them, unless another release still lists them: "+unkeep(open[i], from.Keep))
		}
	case e.Keep() != "":
		if from.Keep != "" && some(true, from) {
			todo = append(todo, "remove them from the source of "+from.Name+" and let it run")
		}
		todo = append(todo, "repeat this command, which then removes the annotation "+e.Keep())
	}
	message := strings.Join(todo, "; then ")
	if len(open) == 1 {
		message = strings.NewReplacer(" them ", " it ", " them,", " it,", " them:", " it:").Replace(message)
	}
	return fmt.Sprintf("the move of %s is not finished: %s", listed, message)
}

// unkeep returns the command that removes an annotation.
func unkeep(ref object.Ref, annotation string) string {
	return command.Kubectl("annotate") + " " + ref.String() + " " + annotation + "-"
}

// checkMove returns an error if flags are combined with a move that select fields.
func (f *flags) checkMove() error {
	selects := cmp.Or(f.to, f.as, f.helmRelease, f.inventoryOf, f.chartOutput) != "" || len(f.from) > 0 || f.share || f.release
	if selects {
		return errors.New("a move of whole objects (--from-release, --from-inventory, --from-set) cannot be combined with flags that select fields or managers")
	}
	return nil
}
