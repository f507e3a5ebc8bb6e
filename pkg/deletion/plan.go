package deletion

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Phase contains objects that may be deleted concurrently. The next phase begins when all of them
// are gone.
type Phase struct {
	Name string
	Sets []Set
}

// Set selects objects of one kind: Items or, if they are nil, those that match Selection.
type Set struct {
	Kind      object.Kind
	Selection object.Selection
	Items     []Item
}

// Item is an object to delete.
type Item struct {
	Ref    object.Ref
	Source object.Source
	Err    error
	// Absent is set if the cluster does not serve the object's kind.
	Absent bool
	// UID, if set, protects another object with the same name from deletion.
	UID types.UID
	// Stays returns the reason to keep this version of the object after all, or "" to delete it.
	// The deletion is bound to the version, and Stays is called again for a newer one. If Stays is
	// nil, every version is deleted.
	Stays func(live *unstructured.Unstructured) string
}

// Reverse returns the phases for deleting the objects of a plan. Two groups of a phase are deleted
// first: objects whose CRD is in the set, because the rest of the phase may contain the controllers
// that clean up after them; and aggregated ClusterRoles, because their controller recreates them
// when one of their parts is deleted.
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

// Without a match, split does not copy the set, which may be large.
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

func (ph Phase) refs() []object.Ref {
	var refs []object.Ref
	for _, s := range ph.Sets {
		for _, it := range s.Items {
			refs = append(refs, it.Ref)
		}
	}
	return refs
}

// kube-controller-manager writes the rules of aggregated ClusterRoles with this field manager.
const aggregator = "clusterrole-aggregation-controller"

func isAggregated(u *unstructured.Unstructured) bool {
	if u == nil || u.GetKind() != "ClusterRole" || u.GroupVersionKind().Group != "rbac.authorization.k8s.io" {
		return false
	}
	return u.Object["aggregationRule"] != nil
}

// isRemnant reports whether the controller has recreated an aggregated ClusterRole after its
// deletion. The controller applies rules to each role in its cache, by name and without a UID. If
// the role was deleted meanwhile, the server creates one with only these rules.
func isRemnant(u *unstructured.Unstructured) bool {
	entries := u.GetManagedFields()
	for _, entry := range entries {
		if entry.Manager != aggregator {
			return false
		}
	}
	return len(entries) > 0 && !isAggregated(u)
}

func (e *Engine) sweep(ctx context.Context) {
	e.mu.Lock()
	gone := e.aggregates
	e.mu.Unlock()
	for _, t := range gone {
		live, err := e.Server.Get(ctx, *t.kind, t.Ref)
		if err != nil || !isRemnant(live) { // Usually, the role does not exist.
			continue
		}
		how := object.Deletion{UID: live.GetUID(), ResourceVersion: live.GetResourceVersion()}
		_, err = e.Server.Delete(ctx, *t.kind, t.Ref, how)
		text := aggregator + " had recreated it with nothing but rules; it was deleted again"
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			text = fmt.Sprintf("%s recreated it with nothing but rules, and it could not be deleted again: %v", aggregator, redact.Refusal(t.Ref, err))
		}
		e.mu.Lock()
		e.Emit(event.Warned{Ref: t.Ref, Text: text})
		e.mu.Unlock()
	}
}

// TimeoutOf returns how long the deletion of an object may take if the user sets no timeout: longer for
// kinds that have contents.
func TimeoutOf(kind object.Kind) time.Duration {
	const usual, long = 5 * time.Minute, 20 * time.Minute
	switch kind.GVK.GroupKind().String() {
	case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io":
		return long
	}
	return usual
}
