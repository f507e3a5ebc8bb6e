// Package plan orders objects into phases; objects of one phase may be applied concurrently. Start
// with [Build]. A class is the earliest place of an object (CRDs and namespaces, configuration,
// network, workloads, webhooks, unknown kinds), and a need outranks it. It is pure: it reads and
// sends nothing.
package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options are what Build needs besides the manifests.
type Options struct {
	// Kinds are those of the manifests that the cluster serves. A missing kind is looked up in the
	// CRDs of the set.
	Kinds map[schema.GroupVersionKind]object.Kind
	// Namespace is for objects of namespaced kinds without one. Empty means "default".
	Namespace string
	// Enforced makes another namespace in a manifest an error: the user gave -n.
	Enforced bool
	// SkipInvalid leaves out faulty objects and lists them in [Plan].Invalid instead of failing the
	// plan. A cycle of needs always fails it.
	SkipInvalid bool
	// LastWins keeps the last of several manifests of one object, with a warning, as kubectl does;
	// otherwise different content is a fault.
	LastWins bool
}

// Plan is a set of objects in order.
type Plan struct {
	// Phases are never empty.
	Phases []Phase
	// Warnings are in the order of the input.
	Warnings []Warning
	// Invalid are the faults of objects that were left out, with [Options].SkipInvalid.
	Invalid []error
}

// Phase is a group of objects that may be applied concurrently.
type Phase struct {
	// Name is for people, and unique in the plan: "CRDs and namespaces", "configuration",
	// "workloads", "workloads 2", …
	Name string
	// Items are in the order of the input.
	Items []Item
}

// Refs returns the references of the phase's objects, in order.
func (p Phase) Refs() []object.Ref {
	refs := make([]object.Ref, len(p.Items))
	for i, item := range p.Items {
		refs[i] = item.Ref
	}
	return refs
}

// Item is one object with a known scope: the namespace is set if the kind has one, and unset if it
// has none. If the scope is unknown, the namespace is as written until [Item.Resolve].
type Item struct {
	object.Ref
	Source object.Source
	// Object is the manifest as it will be sent. It shares its values with the manifest: callers
	// that change it make a copy.
	Object *unstructured.Unstructured
	// Kind is the kind as the cluster serves it. Its Resource is empty if the cluster does not
	// serve it yet; all of it is empty if no CRD in the set has it either.
	Kind object.Kind
	// Needs are objects of earlier phases without which this one cannot exist: its namespace, its
	// CRD, what the API server looks up when it is written, what its depends-on annotation names.
	// Only objects of the set are listed.
	Needs []object.Key
	// Bringers are objects of the set that may make the server serve the kind, if it does not do so
	// yet. Without any, waiting for it is pointless.
	Bringers []object.Key
	// OnlyIn are the versions in which a CRD in the set has the kind, if it lacks the object's.
	OnlyIn []string
}

// Warning is about an object that can be applied all the same.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	// Text is one line; it names neither Ref nor Source. Detail ends it, and concerns only this
	// object.
	Text, Detail string
}

// Build finds the scope of the manifests and orders them. Within a phase they keep the order of the
// input, so the same input gives the same plan.
//
// A kind that the cluster does not serve takes its scope from its CRD in the set. A kind without a
// CRD does not fail the plan either: an operator in the set may install it, so it comes last, with
// an empty Kind.
//
// An object that is in the set twice with the same content counts once, with a warning. With other
// content (or at another version) it is a fault, because nothing says which of them counts.
//
// The error joins all faults: namespaces that contradict -n, objects that are in the set twice,
// malformed depends-on annotations, and, if there are none of these, a *[CycleError] for each cycle
// of needs.
func Build(manifests []object.Manifest, o Options) (*Plan, error) {
	b, faults := gather(manifests, o, nil)
	if !o.SkipInvalid && len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if len(faults) > 0 {
		// The needs of the remaining objects do not include what was left out.
		b, _ = gather(manifests, o, b.faulty)
	}
	for i := range b.nodes {
		b.nodes[i].Bringers, b.nodes[i].OnlyIn = b.bringers(b.nodes[i].Item), b.onlyIn(b.nodes[i].Item)
	}
	if err := b.arrange(); err != nil {
		return nil, err
	}
	return &Plan{Phases: b.phases(), Warnings: b.warnings, Invalid: faults}, nil
}

// Faults returns the faults that can be found without a cluster: those that Build finds whatever
// kinds the cluster serves. They let a broken input be reported completely without a request.
func Faults(manifests []object.Manifest, o Options) []error {
	o.Kinds = nil
	_, faults := gather(manifests, o, nil)
	return faults
}

// gather makes a graph of the manifests, leaving out some objects, and reports their faults.
func gather(manifests []object.Manifest, o Options, but map[object.Key]bool) (*builder, []error) {
	b := &builder{
		options: o,
		crds:    crdsOf(manifests),
		nodes:   make([]node, 0, len(manifests)),
		index:   make(map[object.Key]int, len(manifests)),
		but:     but,
		faulty:  map[object.Key]bool{},
	}
	var faults []error
	for _, m := range manifests {
		faults = append(faults, b.add(m)...)
	}
	for i := range b.nodes {
		if errs := b.link(i); len(errs) > 0 {
			b.faulty[b.identity(b.nodes[i].Item)] = true
			faults = append(faults, errs...)
		}
	}
	return b, faults
}

// add adds a manifest to the set unless it is there already.
func (b *builder) add(m object.Manifest) []error {
	it := Item{Ref: m.Ref(), Source: m.Source, Object: m.Object}
	it, err := it.settle(b.kind(it.GVK), b.options)
	if err != nil {
		return []error{err}
	}
	key := b.identity(it)
	if b.but[key] {
		return nil
	}
	if first, twice := b.index[key]; twice {
		return b.again(b.nodes[first].Item, it)
	}
	b.index[key] = len(b.nodes)
	b.nodes = append(b.nodes, node{Item: it})
	return nil
}

// again handles an object that is already in the set.
func (b *builder) again(first, it Item) []error {
	// If the scope is still unknown, an object may be written with and without its namespace.
	namespace := b.identity(it).Namespace
	if reflect.DeepEqual(first.fieldsIn(namespace), it.fieldsIn(namespace)) {
		b.warnings = append(b.warnings, Warning{
			Ref: it.Ref, Source: it.Source,
			Text: "in the input twice with the same content; counts once", Detail: fmt.Sprintf(" (%s and %s)", first.Source, it.Source),
		})
		return nil
	}
	if b.options.LastWins {
		b.warnings = append(b.warnings, Warning{
			Ref: it.Ref, Source: it.Source,
			Text: "in the input twice with different content; the last one counts", Detail: fmt.Sprintf(" (%s and %s)", first.Source, it.Source),
		})
		b.nodes[b.index[b.identity(it)]].Item = it
		return nil
	}
	var faults []error
	if b.options.SkipInvalid && !b.faulty[b.identity(it)] { // The first is left out as well.
		faults = append(faults, first.twice(it))
	}
	b.faulty[b.identity(it)] = true
	return append(faults, it.twice(first))
}

// twice returns the fault of an item that is also at another place of the input.
func (it Item) twice(other Item) error {
	return it.fault("the same object is in the input twice, with different content", ": also at "+other.Source.String(),
		"remove one of them, or let the last one count: --duplicates=last")
}

// fault returns a fault of the item; detail ends its text.
func (it Item) fault(text, detail, hint string) error {
	return &object.FaultError{Source: it.Source, Subject: it.String(), Text: text, Detail: detail, Advice: hint}
}

// link finds the needs of a node among the others.
func (b *builder) link(i int) []error {
	it := b.nodes[i].Item
	for _, key := range b.references(it) {
		if on, ok := b.index[key]; ok {
			b.need(i, on)
		}
	}
	named, faults := dependsOn(it)
	for _, key := range named {
		on, ok := b.find(key)
		if !ok {
			// It may be in the cluster, from an earlier run or another tool: no reason to refuse
			// the rest. cli-utils makes it an error.
			b.warnings = append(b.warnings, Warning{
				Ref: it.Ref, Source: it.Source,
				Text: fmt.Sprintf("depends on %s, which is not in the input: the order is not guaranteed", key.Ref()),
			})
			continue
		}
		b.need(i, on)
	}
	return faults
}

// CycleError is a cycle of objects each of which needs the next, and the last the first: none can
// be applied before the others.
type CycleError struct {
	// Members are the objects of the cycle, starting with the first in the input.
	Members []Member
}

// Member is one object of a cycle.
type Member struct {
	Ref    object.Ref
	Source object.Source
}

func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("objects depend on each other in a cycle: ")
	for _, m := range e.Members {
		b.WriteString(m.Ref.String() + " (" + m.Source.String() + ") → ")
	}
	if len(e.Members) > 0 {
		b.WriteString(e.Members[0].Ref.String())
	}
	return b.String()
}

func (e *CycleError) Hint() string {
	return "an arrow means \"needs\"; remove one of them from a " + dependsOnAnnotation + " annotation"
}

// cycles finds cycles among the nodes that wait for each other: one for each strongly connected
// group, so that each error can be corrected on its own.
func (b *builder) cycles(waiting []int) error {
	var (
		faults []error
		path   []int // nodes from the start of the search to here
	)
	const unseen, onPath, seen = 0, 1, 2
	state := make([]int, len(b.nodes))
	reported := make([]bool, len(b.nodes))
	var visit func(i int)
	visit = func(i int) {
		state[i] = onPath
		path = append(path, i)
		for _, on := range b.nodes[i].needs {
			switch {
			case state[on] == onPath:
				faults = append(faults, b.cycle(path, on, reported))
			case state[on] == unseen && waiting[on] > 0:
				visit(on)
			}
		}
		path = path[:len(path)-1]
		state[i] = seen
	}
	for i := range b.nodes {
		if state[i] == unseen && waiting[i] > 0 {
			visit(i)
		}
	}
	return errors.Join(faults...)
}

// cycle returns the cycle that closes at a node of the path, or nil if a part of it has been
// reported already.
func (b *builder) cycle(path []int, at int, reported []bool) error {
	start := len(path) - 1
	for path[start] != at {
		start--
	}
	circle := path[start:]
	first := 0
	for k, i := range circle {
		if reported[i] {
			return nil
		}
		if i < circle[first] {
			first = k
		}
	}
	e := &CycleError{}
	for k := range circle {
		i := circle[(first+k)%len(circle)]
		n := b.nodes[i]
		reported[i] = true
		e.Members = append(e.Members, Member{Ref: n.Ref, Source: n.Source})
	}
	return e
}
