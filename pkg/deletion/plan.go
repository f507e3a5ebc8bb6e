package deletion

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Phase is objects that may be deleted side by side. The next one begins when all
// of it is gone.
type Phase struct {
	Name string
	Sets []Set
}

// Set is objects of one kind: those that Items name, or, if that is nil, all that
// Selection selects.
type Set struct {
	Kind      object.Kind
	Selection object.Selection
	Items     []Item
}

// Item is one object that is to be deleted.
type Item struct {
	Ref object.Ref
	// Source is where it was written down, if it was.
	Source object.Source
	// Err is why nothing can be done about it; nil for most.
	Err error
	// Absent tells that there can be none, for the cluster does not serve its kind.
	Absent bool
	// UID is that of the object that is meant, where it was seen before. Another one that
	// has its name by now is left alone. Empty means the object that is found.
	UID types.UID
	// Stays says why the object, as it is now, is not to be deleted after all; empty if it
	// is. The deletion is bound to the version about which it was asked, and an object that
	// has changed since is asked about once more. Nil lets the UID alone decide.
	Stays func(live *unstructured.Unstructured) string
}

// Reverse returns the phases of a plan, the last first. Two groups come before all others of their
// phase: objects whose CRD is in the set, since controllers among the others clean up after
// them, and aggregated ClusterRoles, which their controller would create anew when a part goes.
func Reverse(p *plan.Plan) []Phase {
	defined := map[object.Key]bool{}
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			if it.GVK.Group == "apiextensions.k8s.io" && it.GVK.Kind == "CustomResourceDefinition" {
				defined[it.Key()] = true
			}
		}
	}
	isCustom := func(it plan.Item) bool {
		return slices.ContainsFunc(it.Needs, func(key object.Key) bool { return defined[key] })
	}
	isAggregate := func(it plan.Item) bool { return isAggregated(it.Object) }
	var phases []Phase
	for _, ph := range slices.Backward(p.Phases) {
		custom, others := split(ph.Items, isCustom)
		aggregated, others := split(others, isAggregate)
		for _, group := range []struct {
			name  string
			items []plan.Item
		}{{", custom", custom}, {", aggregated", aggregated}, {"", others}} {
			switch len(group.items) {
			case 0:
			case len(ph.Items):
				phases = append(phases, Phase{Name: ph.Name, Sets: setsOf(group.items)})
			default:
				phases = append(phases, Phase{Name: ph.Name + group.name, Sets: setsOf(group.items)})
			}
		}
	}
	return phases
}

// split returns the items that match, and the others. A large set of which none matches is not copied.
func split(items []plan.Item, match func(plan.Item) bool) (matching, others []plan.Item) {
	if !slices.ContainsFunc(items, match) {
		return nil, items
	}
	for _, it := range items {
		if match(it) {
			matching = append(matching, it)
		} else {
			others = append(others, it)
		}
	}
	return matching, others
}

// setsOf groups items by kind and namespace, in their order.
func setsOf(items []plan.Item) []Set {
	type place struct {
		kind      object.Key
		version   string
		namespace string
	}
	var sets []Set
	at := map[place]int{}
	for _, it := range items {
		where := place{object.Key{Group: it.GVK.Group, Kind: it.GVK.Kind}, it.GVK.Version, it.Namespace}
		i, known := at[where]
		if !known {
			i = len(sets)
			at[where] = i
			sets = append(sets, Set{Kind: it.Kind, Selection: object.Selection{Namespace: it.Namespace}})
		}
		sets[i].Items = append(sets[i].Items, Item{Ref: it.Ref, Source: it.Source, Absent: it.Kind.Resource == ""})
	}
	return sets
}

// refs returns the objects that are named.
func (ph Phase) refs() []object.Ref {
	var refs []object.Ref
	for _, s := range ph.Sets {
		for _, it := range s.Items {
			refs = append(refs, it.Ref)
		}
	}
	return refs
}

// allNamed reports whether it is known which objects are meant, before anything is
// read.
func allNamed(phases []Phase) bool {
	for _, ph := range phases {
		if slices.ContainsFunc(ph.Sets, func(s Set) bool { return s.Items == nil }) {
			return false
		}
	}
	return true
}

// aggregator is the field manager with which kube-controller-manager applies the rules of
// aggregated ClusterRoles.
const aggregator = "clusterrole-aggregation-controller"

// isAggregated reports whether the rules of u are written by kube-controller-manager.
func isAggregated(u *unstructured.Unstructured) bool {
	if u == nil || u.GetKind() != "ClusterRole" || u.GroupVersionKind().Group != "rbac.authorization.k8s.io" {
		return false
	}
	return u.Object["aggregationRule"] != nil
}

// isRemnant reports whether u is an aggregated ClusterRole that came back after its deletion. The
// controller applies the rules, by name and without a UID, to each role that its cache still holds;
// if the role is gone by then, the server creates one that has nothing but rules.
func isRemnant(u *unstructured.Unstructured) bool {
	entries := u.GetManagedFields()
	for _, entry := range entries {
		if entry.Manager != aggregator {
			return false
		}
	}
	return len(entries) > 0 && !isAggregated(u)
}

// sweep looks once more at the aggregated ClusterRoles that are gone, and deletes what its
// controller created of one meanwhile.
func (e *Engine) sweep(ctx context.Context) {
	e.mu.Lock()
	gone := e.aggregates
	e.mu.Unlock()
	for _, t := range gone {
		live, err := e.Server.Get(ctx, *t.kind, t.Ref)
		if err != nil || !isRemnant(live) { // Nearly always it is not found.
			continue
		}
		how := object.Deletion{UID: live.GetUID(), ResourceVersion: live.GetResourceVersion()}
		_, err = e.Server.Delete(ctx, *t.kind, t.Ref, how)
		text := aggregator + " had created it anew, with nothing but rules; it was deleted again"
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			text = fmt.Sprintf("%s created it anew, with nothing but rules, and it was not deleted again: %v", aggregator, redact.Refusal(t.Ref, err))
		}
		e.mu.Lock()
		e.Emit(event.Warned{Ref: t.Ref, Text: text})
		e.mu.Unlock()
	}
}
