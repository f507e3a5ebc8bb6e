package releases

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give/move"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// release is a release whose next upgrade is forecast.
type release struct {
	inventory.HelmRelease
	// base is the revision that Helm compares the next manifest with, by object: Helm matches objects
	// without their version (isMatchingInfo in helm/helm, pkg/kube/resource.go).
	base map[object.Key]*unstructured.Unstructured
	// migrates means that a server-side upgrade first moves the fields of Helm's updates to what Helm
	// applies (upgradeClientSideFieldManager in helm/helm, pkg/kube/client.go).
	migrates bool
	pieces   []*piece
	// leaving are the objects that the next manifest lacks.
	leaving []*piece
	// failed is the last failed revision with an object that the base lacks. orphans are those of these
	// objects that the next manifest lacks, too. attempts are the objects of the base as failed revisions
	// contain them.
	failed   map[object.Key]int
	orphans  []*piece
	attempts map[object.Key][]attempt
	out      event.Release
	// isRead means that the newest revision was decoded.
	isRead bool
	// chart is the file with the chart output; empty if there is none.
	chart string
	// absent are the releases that are not installed, among those whose marks the objects carry.
	absent map[inventory.Release]bool
}

// piece is an object of a release.
type piece struct {
	helmrelease.Object
	live *unstructured.Unstructured
	// after is the live object after a client-side upgrade; nil if the server was not asked.
	after *unstructured.Unstructured
	// unread is the error of the read, or of a dry run that showed nothing.
	unread    error
	conflicts []managedfields.Conflict
	// unprotected are the values of others that every upgrade overwrites: the server reports no
	// conflict for the stringData of a Secret (edge case 12).
	unprotected []managedfields.Conflict
	// refused is the refusal of the next upgrade, and refusedServerSide the one that a client-side
	// upgrade meets only with --server-side=true.
	refused, refusedServerSide error
}

// changes reports whether the upgrade changes the manifest of an object. Otherwise the server has
// already accepted the manifest.
func (r *release) changes(p *piece) bool {
	base := r.base[p.Ref.Key()]
	return base == nil || !equality.Semantic.DeepEqual(base.Object, p.Declared.Object)
}

// forces reports whether the upgrade overwrites conflicting fields, and takes over existing objects.
// Flux's upgrades do both (Upgrade in fluxcd/helm-controller, internal/action/upgrade.go).
func (r *release) forces() bool { return r.out.Flux }

// isOwn reports whether an owner is the release's own update, which Helm migrates.
func (r *release) isOwn(o managedfields.Owner) bool {
	return o.Manager == r.out.Manager && o.Operation == managedfields.Update && o.Subresource == ""
}

// contested returns the conflicts that remain after Helm has migrated its own updates.
func (r *release) contested(conflicts []managedfields.Conflict) []managedfields.Conflict {
	var out []managedfields.Conflict
	for _, c := range conflicts {
		if r.migrates {
			if c.Owners = slices.DeleteFunc(slices.Clone(c.Owners), r.isOwn); len(c.Owners) == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// overwrites returns the fields of others that the upgrade sets without a conflict. For kinds that Helm
// does not know, a client-side upgrade sends only the difference between two manifests, not what the
// live object lacks (createPatch in helm/helm, pkg/kube/client.go).
func (r *release) overwrites(p *piece, contested []managedfields.Conflict) []managedfields.Conflict {
	unprotected := r.contested(p.unprotected)
	own := func(c managedfields.Conflict) bool {
		return len(c.Owners) > 0 && !slices.ContainsFunc(c.Owners, func(o managedfields.Owner) bool { return !r.isOwn(o) })
	}
	switch base := r.base[p.Ref.Key()]; {
	case r.out.ServerSide && !r.forces():
		return unprotected
	case !r.out.ServerSide:
		contested = slices.DeleteFunc(slices.Clone(contested), func(c managedfields.Conflict) bool {
			sent := isTyped(p.Declared) || base != nil && !c.Path.Same(base.Object, p.Declared.Object)
			return own(c) || !sent
		})
	}
	return slices.Concat(contested, unprotected)
}

// judge completes the forecast from what was read of each object.
func (r *release) judge() {
	out := &r.out
	owners, movers := map[string]bool{}, map[string]bool{}
	var unscale, received, moves []string
	settled := true
	scaling, scaled := r.scalers(), map[string]bool{}
	for _, p := range r.pieces {
		switch {
		case p.unread != nil:
			out.Unread = append(out.Unread, event.Unread{Ref: p.Ref, Err: redact.Error(p.Declared, p.unread)})
			continue
		case p.refused != nil:
			out.Refusals = append(out.Refusals, event.Unread{Ref: p.Ref, Err: redact.Error(p.Declared, p.refused)})
		case p.refusedServerSide != nil:
			out.RefusalsServerSide = append(out.RefusalsServerSide, event.Unread{Ref: p.Ref, Err: redact.Error(p.Declared, p.refusedServerSide)})
		}
		if p.live == nil {
			if r.base[p.Ref.Key()] != nil && p.refused == nil {
				out.Gone = append(out.Gone, p.Ref)
			}
			continue
		}
		if foreign := r.reportForeign(p); r.receives(p) {
			received = append(received, foreign...)
		} else {
			moves = append(moves, foreign...)
		}
		if r.joins(p) && !r.marked(p.live) && !r.forces() {
			out.Refusals = append(out.Refusals, event.Unread{Ref: p.Ref, Err: r.unmarked(p.live)})
		}
		contested := r.contested(p.conflicts)
		if len(contested) > 0 && !r.forces() {
			out.Conflicts = append(out.Conflicts, event.ObjectConflicts{Ref: p.Ref, Conflicts: redact.Conflicts(p.Ref, contested)})
		}
		if overwritten := r.overwrites(p, contested); len(overwritten) > 0 {
			out.Overwrites = append(out.Overwrites, event.ObjectConflicts{Ref: p.Ref, Conflicts: redact.Conflicts(p.Ref, overwritten)})
		}
		if removed := r.removes(p); len(removed) > 0 {
			out.Removes = append(out.Removes, event.ObjectConflicts{Ref: p.Ref, Conflicts: removed})
		}
		out.Leftovers = append(out.Leftovers, r.leftovers(p)...)
		if i := slices.IndexFunc(contested, isAutoscaled); i >= 0 {
			out.Autoscaled = append(out.Autoscaled, p.Ref)
			unscale = append(unscale, r.unscale(p.Ref, contested[i].Path))
			contested = slices.DeleteFunc(slices.Clone(contested), isAutoscaled)
		}
		if len(contested) == 0 {
			continue
		}
		marking := r.marking(p, contested)
		maps.Copy(movers, marking)
		contested = slices.DeleteFunc(slices.Clone(contested), func(c managedfields.Conflict) bool {
			moved := applyset.IsReleaseMark(c.Path) && r.receives(p)
			return moved || slices.ContainsFunc(c.Owners, func(o managedfields.Owner) bool { return marking[o.Manager] })
		})
		if len(contested) == 0 {
			continue
		}
		for _, c := range contested {
			for _, o := range c.Owners {
				if scaling[o.Manager] {
					scaled[c.Path.String()] = true
				} else {
					owners[o.Manager] = true
				}
			}
		}
		settled = settled && r.settles(p, contested)
	}
	// The proposed give selects all objects of the release, so it would take the marks of a foreign object, too.
	maps.DeleteFunc(owners, func(manager string, _ bool) bool { return movers[manager] })
	moves = append(moves, r.judgeLeaving()...)
	r.judgeFailed()
	switch {
	case out.Refused != nil, len(out.Refusals) > 0, out.ServerSide && len(out.Conflicts) > 0:
		out.Forecast = event.UpgradeFails
	case len(out.Unread) > 0:
		out.Forecast = event.UpgradeUnknown
	default:
		out.Forecast = event.UpgradeReady
	}
	out.Next = slices.Concat(unscale, received) // After these, give takes the other fields of the objects, too.
	switch {
	case len(owners)+len(scaled) == 0:
	case !settled:
		out.Next = append(out.Next, "give cannot move all of these fields; this takes them: helm upgrade --server-side=true --force-conflicts")
	default:
		if len(owners) > 0 {
			out.Next = append(out.Next, r.give(owners, nil))
		}
		if len(scaled) > 0 { // Without paths, give would take the replicas, too.
			out.Next = append(out.Next, r.give(scaling, scaled))
		}
	}
	out.Next = append(out.Next, moves...)
}

// joins reports whether an object is new in the release. Helm compares versions, too, so an object
// whose apiVersion changes is new (objectKey in helm/helm, pkg/action/upgrade.go).
func (r *release) joins(p *piece) bool {
	base := r.base[p.Ref.Key()]
	return base == nil || base.GetAPIVersion() != p.Declared.GetAPIVersion()
}

// judgeLeaving lists the objects that the upgrade deletes. Helm keeps those with an annotation, but
// deletes those that another release has taken over (update in helm/helm, pkg/kube/client.go). For
// these, it returns the commands that make Helm keep them.
func (r *release) judgeLeaving() (moves []string) {
	for _, p := range r.leaving {
		switch {
		case p.unread == nil && p.live == nil, p.live != nil && p.live.GetAnnotations()["helm.sh/resource-policy"] == "keep":
			continue
		case p.live != nil:
			foreign := r.reportForeign(p)
			if claim, _ := r.foreign(p.live); !r.absent[named(claim)] { // A release that is not installed keeps nothing.
				moves = append(moves, foreign...)
			}
		}
		r.out.Deleted = append(r.out.Deleted, p.Ref)
	}
	return moves
}

// reportForeign reports an object of another release, and returns the command that moves it: to that
// release or, if the object is new in this one or the other is not installed, to this one. If a move to
// the other release has begun, that release may still be installed, so the command has a condition.
func (r *release) reportForeign(p *piece) []string {
	claim, is := r.foreign(p.live)
	if !is {
		return nil
	}
	absent := r.absent[named(claim)]
	r.out.Foreign = append(r.out.Foreign, event.ForeignObject{Ref: p.Ref, Owner: claim.String(), Absent: absent})
	from, to, condition := r.Namespace+"/"+r.Name, claim.Name, ""
	switch receives := r.receives(p); {
	case !receives && absent:
		condition = "if " + claim.Name + " will not be installed: "
		fallthrough
	case receives:
		from, to = to, from
	}
	line := condition + command.Kubectl("k8sconnect", "give") + " " + p.Ref.String() +
		" --from-release=" + text.ShellQuote(from) + " --to-release=" + text.ShellQuote(to)
	if r.out.Revision == 0 { // This release is not installed yet, and receives the object.
		line += " --allow-new"
	}
	return []string{line}
}

// receives reports whether a foreign object should certainly move to this release.
func (r *release) receives(p *piece) bool {
	claim, is := r.foreign(p.live)
	isOld := r.base[p.Ref.Key()] != nil
	return is && (!isOld || r.absent[named(claim)] && !move.IsKept(p.live))
}

// marking returns the managers that own the marks of another release on an object that this release does not
// receive. If give took their fields, it would undo the move to that release; the move settles them.
func (r *release) marking(p *piece, contested []managedfields.Conflict) map[string]bool {
	out := map[string]bool{}
	if _, is := r.foreign(p.live); !is || r.receives(p) {
		return out
	}
	for _, c := range contested {
		if !applyset.IsReleaseMark(c.Path) {
			continue
		}
		for _, o := range c.Owners {
			out[o.Manager] = true
		}
	}
	return out
}

// foreign returns the claim of another release on an object.
func (r *release) foreign(live *unstructured.Unstructured) (claim applyset.Claim, is bool) {
	for _, claim := range applyset.Claims(live, "") {
		if claim.Of == "Helm release" && claim.Name != r.Namespace+"/"+r.Name {
			return claim, true
		}
	}
	return applyset.Claim{}, false
}

// named returns the release that a claim names.
func named(claim applyset.Claim) inventory.Release {
	namespace, name, _ := strings.Cut(claim.Name, "/")
	return inventory.Release{Namespace: namespace, Name: name}
}

// marked reports whether Helm accepts an existing object as one of the release's (checkOwnership in
// helm/helm, pkg/action/validate.go).
func (r *release) marked(live *unstructured.Unstructured) bool {
	want := r.Applied(&unstructured.Unstructured{Object: map[string]any{}})
	covers := func(have, want map[string]string) bool {
		for key, value := range want {
			if have[key] != value {
				return false
			}
		}
		return true
	}
	return covers(live.GetLabels(), want.GetLabels()) && covers(live.GetAnnotations(), want.GetAnnotations())
}

// unmarked returns why Helm refuses to import an object. With --take-ownership, another release would still list
// the object, and delete it once its manifest lacks it.
func (r *release) unmarked(live *unstructured.Unstructured) error {
	if claim, is := r.foreign(live); is && !r.absent[named(claim)] {
		return object.Hinted("the give command below moves it; with --take-ownership instead, "+claim.Name+" could still delete it",
			"it belongs to %s, so Helm refuses to import it", claim.String())
	}
	return object.Hinted("helm install and helm upgrade import it with --take-ownership",
		"it exists, but does not belong to the release, so Helm refuses to import it")
}
