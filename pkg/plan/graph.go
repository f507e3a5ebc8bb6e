package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// builder is a graph whose nodes are items and whose edges are needs.
type builder struct {
	options     Options
	crds        map[groupKind]crd
	nodes       []node
	index       map[object.Key]int
	but, faulty map[object.Key]bool
	warnings    []Warning
	operatorsOf map[string][]object.Key
}

type node struct {
	Item
	needs []int
	place place
}

// identity returns an item's key. If the item's scope is unknown, identity assumes that it is
// namespaced. Two items with the same kind, namespace and name are the same object, whatever their
// scope.
func (b *builder) identity(it Item) object.Key {
	key := it.Key()
	if !it.known() && key.Namespace == "" {
		key.Namespace = b.options.namespace()
	}
	return key
}

// find looks up an object. If the object's scope is unknown, the reference may omit the namespace.
func (b *builder) find(key object.Key) (int, bool) {
	i, ok := b.index[key]
	if ok || key.Namespace != "" {
		return i, ok
	}
	key.Namespace = b.options.namespace()
	i, ok = b.index[key]
	return i, ok && !b.nodes[i].known()
}

func (b *builder) need(i, on int) {
	n := &b.nodes[i]
	if !slices.Contains(n.needs, on) {
		n.needs = append(n.needs, on)
		n.Needs = append(n.Needs, b.nodes[on].Key())
	}
}

func (b *builder) kind(gvk schema.GroupVersionKind) object.Kind {
	if kind, ok := b.options.Kinds[gvk]; ok {
		kind.GVK = gvk
		return kind
	}
	if d, ok := b.crds[gvk.GroupKind()]; ok && d.served[gvk.Version] {
		return object.Kind{GVK: gvk, Namespaced: d.namespaced}
	}
	return object.Kind{}
}

// references returns the objects that must exist when the item is written. Most references impose
// no order: a Deployment, for example, waits for its ConfigMap.
func (b *builder) references(it Item) []object.Key {
	var keys []object.Key
	if namespace := b.identity(it).Namespace; namespace != "" {
		keys = append(keys, object.Key{Kind: "Namespace", Name: namespace})
	}
	if d, ok := b.crds[it.GVK.GroupKind()]; ok {
		keys = append(keys, d.key)
	}
	switch it.GVK.GroupKind() {
	case groupKind{Group: rbacGroup, Kind: "RoleBinding"}, groupKind{Group: rbacGroup, Kind: "ClusterRoleBinding"}:
		// The API server looks up the role to check the user's rights.
		keys = append(keys, roleOf(it))
	case groupKind{Kind: "Pod"}:
		// Admission refuses a Pod if its service account, PriorityClass or RuntimeClass does not
		// exist.
		spec, _ := it.Object.Object["spec"].(map[string]any)
		keys = append(keys,
			object.Key{Kind: "ServiceAccount", Namespace: it.Namespace, Name: text(spec, "serviceAccountName")},
			object.Key{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: text(spec, "priorityClassName")},
			object.Key{Group: "node.k8s.io", Kind: "RuntimeClass", Name: text(spec, "runtimeClassName")},
		)
	case groupKind{Kind: "Secret"}:
		if text(it.Object.Object, "type") == "kubernetes.io/service-account-token" {
			account := annotation(it, "kubernetes.io/service-account.name")
			keys = append(keys, object.Key{Kind: "ServiceAccount", Namespace: it.Namespace, Name: account})
		}
	}
	if !it.known() {
		name := it.GVK.Version + "." + it.GVK.Group
		keys = append(keys, object.Key{Group: serviceGroup, Kind: "APIService", Name: name})
	}
	return keys
}

func (b *builder) arrange() error {
	waiting := make([]int, len(b.nodes)) // the number of unplaced needs of each node
	wanted := make([][]int, len(b.nodes))
	var ready []int
	for i, n := range b.nodes {
		waiting[i] = len(n.needs)
		for _, on := range n.needs {
			wanted[on] = append(wanted[on], i)
		}
		if len(n.needs) == 0 {
			ready = append(ready, i)
		}
	}
	b.classify()
	done := 0
	for ; len(ready) > 0; done++ {
		i := ready[0]
		ready = ready[1:]
		for _, next := range wanted[i] {
			after := b.nodes[i].place
			after.step++
			if b.nodes[next].place.compare(after) < 0 {
				b.nodes[next].place = after
			}
			if waiting[next]--; waiting[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if done < len(b.nodes) {
		return b.cycles(waiting)
	}
	return nil
}

func (b *builder) classify() {
	hasDefinitions := false
	for i := range b.nodes {
		n := &b.nodes[i]
		n.place.class = unknown
		if n.known() {
			n.place.class = classOf(n.GVK.GroupKind())
		}
		hasDefinitions = hasDefinitions || n.place.class == crds
	}
	for i := range b.nodes {
		// Bindings come after their roles. If there is a phase of CRDs, move the roles into it. The
		// bindings then need no additional phase.
		n := &b.nodes[i]
		if hasDefinitions && len(n.needs) == 0 && n.known() && isRole(n.GVK.GroupKind()) {
			n.place.class = crds
		}
	}
	b.networkFirst()
}

func (b *builder) phases() []Phase {
	at, count := map[place]int{}, map[place]int{}
	var places []place
	for i := range b.nodes {
		p := b.nodes[i].place
		if count[p]++; count[p] == 1 {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, place.compare)
	phases := make([]Phase, len(places))
	for i, p := range places {
		at[p] = i
		phases[i].Name, phases[i].Items = p.String(), make([]Item, 0, count[p])
	}
	for i := range b.nodes {
		phase := &phases[at[b.nodes[i].place]]
		phase.Items = append(phase.Items, b.nodes[i].Item)
	}
	return phases
}

// dependsOnAnnotation uses the format of cli-utils: GROUP/KIND/NAME or
// GROUP/namespaces/NAMESPACE/KIND/NAME, separated by commas. The core group is empty.
const dependsOnAnnotation = "config.kubernetes.io/depends-on"

// dependsOn returns the objects in an item's depends-on annotation. A malformed reference is an
// error, because the author relies on the order.
func dependsOn(it Item) ([]object.Key, []error) {
	value := annotation(it, dependsOnAnnotation)
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	var keys []object.Key
	var faults []error
	for ref := range strings.SplitSeq(value, ",") {
		key, ok := parseRef(strings.TrimSpace(ref))
		if !ok {
			faults = append(faults, it.fault(fmt.Sprintf("%s: %q is not a reference", dependsOnAnnotation, ref), "",
				"write GROUP/KIND/NAME, or GROUP/namespaces/NAMESPACE/KIND/NAME; for core kinds, GROUP is empty: /namespaces/prod/ConfigMap/app"))
			continue
		}
		keys = append(keys, key)
	}
	return keys, faults
}

func parseRef(ref string) (object.Key, bool) {
	parts := strings.Split(ref, "/")
	var key object.Key
	switch {
	case len(parts) == 3:
		key = object.Key{Group: parts[0], Kind: parts[1], Name: parts[2]}
	case len(parts) == 5 && parts[1] == "namespaces" && parts[2] != "":
		key = object.Key{Group: parts[0], Namespace: parts[2], Kind: parts[3], Name: parts[4]}
	}
	return key, key.Kind != "" && key.Name != ""
}
