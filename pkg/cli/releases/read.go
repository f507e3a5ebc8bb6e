package releases

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type reader struct {
	*options
	vault  *redact.Vault
	server *client.Client
	// own is the namespace of the connection.
	own    string
	unread []event.Unread
	// next is the manifest in the chart output.
	next string
}

func (r *reader) read(ctx context.Context) (event.Releases, error) {
	var out event.Releases
	if !r.everywhere {
		out.Namespace = r.own
	}
	all, err := r.stored(ctx, out.Namespace)
	if err != nil {
		return out, err
	}
	r.live(ctx, all)
	r.ask(ctx, all)
	absent := r.absent(ctx, all)
	for _, one := range all {
		one.absent = absent
		one.judge()
		out.Found = append(out.Found, one.out)
	}
	slices.SortFunc(out.Found, func(a, b event.Release) int {
		return cmp.Or(text.CompareNames(a.Namespace, b.Namespace), text.CompareNames(a.Name, b.Name), -strings.Compare(a.Driver, b.Driver))
	})
	out.Unread = r.unread
	return out, nil
}

// stored returns the releases with the objects of their next upgrade.
func (r *reader) stored(ctx context.Context, namespace string) ([]*release, error) {
	labels := "owner=helm,status notin (superseded)"
	if r.name != "" {
		labels += ",name=" + r.name
	}
	reader := r.server.NoRetry()
	stored := inventory.Stored{}
	for _, place := range helmrelease.Places() {
		err := reader.SelectLarge(ctx, place.Kind, object.Selection{Namespace: namespace, Labels: labels}, place.Fields, stored.Add)
		if err == nil {
			err = r.superseded(ctx, place, namespace, stored)
		}
		if err != nil {
			r.unread = append(r.unread, event.Unread{Ref: object.Ref{GVK: place.Kind, Namespace: namespace}, Err: err})
		}
	}
	var all []*release
	var kept *unstructured.Unstructured
	for named, revisions := range stored {
		if helmrelease.IsKept(revisions.Last) {
			if kept == nil || revisions.Last.GetNamespace() < kept.GetNamespace() {
				kept = revisions.Last
			}
			continue
		}
		one, err := r.release(ctx, named, revisions)
		if err != nil {
			return nil, err
		}
		for _, driver := range []string{inventory.InSecrets, inventory.InConfigMaps} {
			other, is := stored[inventory.StoredRelease{Release: named.Release, Driver: driver}]
			one.out.Twice = one.out.Twice || is && driver != named.Driver && !helmrelease.IsKept(other.Last)
		}
		all = append(all, one)
	}
	if r.chart != nil && len(all) == 0 && len(r.unread) == 0 {
		one, err := r.first(ctx, inventory.Release{Namespace: namespace, Name: r.name})
		if err == nil && kept != nil {
			one.out.Refused = helmrelease.Reused(kept)
		}
		return []*release{one}, err
	}
	if r.name != "" && len(all) == 0 && len(r.unread) == 0 {
		if namespace == "" {
			namespace = "*"
		}
		return nil, helmrelease.NotInstalled(inventory.Release{Namespace: namespace, Name: r.name}, kept)
	}
	return all, nil
}

// release reads a stored release and the objects of its next upgrade. If a stored revision cannot be read,
// only this release is unknown; an unusable chart ends the run, because the user named it.
func (r *reader) release(ctx context.Context, named inventory.StoredRelease, revisions inventory.Revisions) (*release, error) {
	out := &release{chart: r.chartFile, base: map[object.Key]*unstructured.Unstructured{}}
	out.out = event.Release{Namespace: named.Namespace, Name: named.Name, Driver: named.Driver, Manifest: "the stored manifest"}
	out.out.Revision, _ = strconv.Atoi(revisions.Last.GetLabels()["version"])
	missed := func(u *unstructured.Unstructured, err error) *release {
		out.out.Unread = append(out.out.Unread, event.Unread{Ref: object.RefOf(u), Err: err})
		return out
	}
	last, err := inventory.Decode(revisions.Last)
	if err != nil && !errors.Is(err, inventory.ErrNoManifest) {
		return missed(revisions.Last, err), nil
	}
	base := last
	if revisions.Base() != revisions.Last {
		if base, err = inventory.Decode(revisions.Base()); err != nil && !errors.Is(err, inventory.ErrNoManifest) {
			return missed(revisions.Base(), err), nil
		}
	}
	out.HelmRelease = last
	out.isRead = true
	out.Name, out.Namespace = named.Name, cmp.Or(last.Namespace, named.Namespace)
	out.out.Revision, out.out.Status, out.out.ServerSide = last.Version, last.Info.Status, last.Applies()
	out.migrates = !base.Applies()
	out.out.Refused = helmrelease.Refused(last)
	if r.chart != nil {
		if err := r.takeChart(out); err != nil {
			return nil, err
		}
	}
	next, err := r.objects(ctx, out.HelmRelease)
	if !out.built(revisions.Last, err) {
		return out, nil
	}
	before := next
	if r.chart != nil || base.Version != last.Version {
		before, err = r.objects(ctx, base)
		if !out.built(revisions.Base(), err) {
			return out, nil
		}
	}
	out.compare(next, before)
	r.failed(ctx, out, revisions.Failed)
	return out, nil
}

// first returns a release that is not installed yet. Helm installs it server-side, and first moves
// its own updates, as in an upgrade of a client-side release (performInstall in helm/helm,
// pkg/action/install.go).
func (r *reader) first(ctx context.Context, named inventory.Release) (*release, error) {
	out := &release{chart: r.chartFile, base: map[object.Key]*unstructured.Unstructured{}, isRead: true, migrates: true}
	out.HelmRelease = inventory.HelmRelease{Name: named.Name, Namespace: named.Namespace, ApplyMethod: inventory.ServerSide}
	out.out = event.Release{Namespace: named.Namespace, Name: named.Name, ServerSide: true}
	if err := r.takeChart(out); err != nil {
		return nil, err
	}
	next, err := r.objects(ctx, out.HelmRelease)
	if err != nil {
		return nil, err
	}
	out.compare(next, nil)
	return out, nil
}

// takeChart replaces the stored manifest by the chart output.
func (r *reader) takeChart(of *release) (err error) {
	of.out.Manifest, of.Source = "the chart output", "the chart output"
	if r.next == "" { // Standard input can be read only once.
		r.next, err = r.chart.Manifest()
	}
	of.Manifest = r.next
	return err
}

// compare sorts the objects of the next manifest and of the one before.
func (r *release) compare(next, before []helmrelease.Object) {
	for _, o := range before {
		r.base[o.Ref.Key()] = o.Declared
	}
	seen := map[object.Key]bool{}
	for _, o := range next {
		switch {
		case o.Ref.Name == "":
			r.out.Refusals = append(r.out.Refusals, event.Unread{Ref: o.Ref, Err: helmrelease.ErrUnnamed})
		case !seen[o.Ref.Key()]:
			r.pieces = append(r.pieces, &piece{Object: o})
		}
		seen[o.Ref.Key()] = true
	}
	for _, o := range before {
		if !seen[o.Ref.Key()] && o.Ref.Name != "" {
			r.leaving = append(r.leaving, &piece{Object: o})
		}
		seen[o.Ref.Key()] = true // Helm accepts an object that a manifest contains twice.
	}
	r.out.Objects = len(r.pieces) + len(r.out.Refusals)
}

func (r *reader) objects(ctx context.Context, of inventory.HelmRelease) ([]helmrelease.Object, error) {
	if strings.TrimSpace(of.Manifest) == "" {
		return nil, nil // The chart has only hooks, or nothing.
	}
	return helmrelease.Objects(ctx, r.server, r.vault, of)
}

// built records the objects of a manifest that cannot be examined. It returns false if the server does not
// serve a kind of the old or the new manifest: then Helm refuses every upgrade.
func (r *release) built(stored *unstructured.Unstructured, err error) bool {
	if err == nil {
		return true
	}
	for _, fault := range verb.Flatten(err) {
		if unserved, is := errors.AsType[*client.NoKindError](fault); is && unserved.Err == nil {
			r.out.Refused = cmp.Or(r.out.Refused, err)
			return false
		}
		r.out.Unread = append(r.out.Unread, event.Unread{Ref: object.RefOf(stored), Err: fault})
	}
	return true
}

// live reads the objects of all releases, one kind after the other.
func (r *reader) live(ctx context.Context, all []*release) {
	type read struct {
		kind   object.Kind
		pieces map[object.Ref][]*piece
	}
	kinds := map[schema.GroupVersionKind]read{}
	for _, one := range all {
		for _, p := range slices.Concat(one.pieces, one.leaving, one.orphans) {
			of, known := kinds[p.Kind.GVK]
			if !known {
				of = read{p.Kind, map[object.Ref][]*piece{}}
				kinds[p.Kind.GVK] = of
			}
			of.pieces[p.Ref] = append(of.pieces[p.Ref], p)
		}
	}
	var group errgroup.Group
	group.SetLimit(survey.SideBySide)
	for _, of := range kinds {
		group.Go(func() error {
			refs := slices.SortedFunc(maps.Keys(of.pieces), object.Ref.Compare)
			r.server.Live(ctx, of.kind, refs, func(i int, live *unstructured.Unstructured, err error) {
				for _, p := range of.pieces[refs[i]] {
					p.live, p.unread = live, err
				}
			})
			return nil
		})
	}
	_ = group.Wait()
	for _, one := range all {
		if one.isRead {
			one.out.Manager, one.out.Flux = one.manager()
		}
	}
}

// absent returns the releases that are not installed, among those whose marks the objects carry. Helm
// leaves the marks on objects that it keeps when it uninstalls a release.
func (r *reader) absent(ctx context.Context, all []*release) map[inventory.Release]bool {
	out, seen := map[inventory.Release]bool{}, map[inventory.Release]bool{}
	for _, one := range all {
		seen[inventory.Release{Namespace: one.Namespace, Name: one.Name}] = one.isRead && one.out.Revision > 0
	}
	for _, one := range all {
		for _, p := range slices.Concat(one.pieces, one.leaving) {
			if p.live == nil {
				continue
			}
			claim, is := one.foreign(p.live)
			if of := named(claim); is && !seen[of] {
				seen[of] = true
				out[of] = helmrelease.Absent(ctx, r.server, of)
			}
		}
	}
	return out
}

// manager returns the field manager of the next upgrade. Flux marks the objects of the releases that it upgrades.
// Other programs with Helm's library, such as Terraform's provider, have the name of their file: then Helm itself
// owns nothing, and the program owns the marks of the release (getManagedFieldsManager in helm/helm,
// pkg/kube/client.go).
func (r *release) manager() (name string, flux bool) {
	marking := map[string]int{}
	for _, p := range r.pieces {
		if p.live == nil {
			continue
		}
		for _, claim := range applyset.Claims(p.live, "") {
			if claim.Of == "Flux HelmRelease" {
				return "helm-controller", true
			}
		}
		entries, err := managedfields.Entries(p.live)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Manager == inventory.Manager {
				marking[e.Manager] = math.MaxInt
			}
		}
		for _, o := range managedfields.HoldersOf(entries, fieldpath.Field("metadata", "annotations", "meta.helm.sh/release-name")) {
			program := o.Manager != managedfields.Giver && o.Manager != managedfields.BeforeFirstApply && !exclusive.IsClient(o.Manager)
			if program && r.marked(p.live) {
				marking[o.Manager]++
			}
		}
	}
	name = inventory.Manager
	for _, of := range slices.Sorted(maps.Keys(marking)) {
		if marking[of] > marking[name] {
			name = of
		}
	}
	return name, false
}
