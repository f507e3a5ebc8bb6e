// Package plan orders objects into phases. The objects of a phase may be applied concurrently.
// Start with [Build]. The class of an object is its earliest phase: CRDs and namespaces,
// configuration, network, workloads, webhooks, or unknown kinds. The needs of an object may move it
// to a later phase. The package reads no files and sends no requests.
package plan

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options are the input of Build besides the manifests.
type Options struct {
	// Kinds are those of the manifests' kinds that the cluster serves. Other kinds are looked up in
	// the CRDs of the set.
	Kinds map[schema.GroupVersionKind]object.Kind
	// Namespace is the namespace of namespaced objects whose manifest names none; empty means
	// "default".
	Namespace string
	// Enforced makes it an error if a manifest names another namespace than Namespace, because the
	// user set -n.
	Enforced bool
	// SkipInvalid omits faulty objects and lists them in [Plan].Invalid. A cycle of needs is always
	// an error.
	SkipInvalid bool
	// LastWins keeps the last of several manifests of one object, with a warning, like kubectl. If
	// it is not set, manifests of one object with different content are an error.
	LastWins bool
}

// Plan is a set of objects in order.
type Plan struct {
	// Phases are never empty.
	Phases   []Phase
	Warnings []Warning
	// Invalid are the faults of objects that were omitted because of [Options].SkipInvalid.
	Invalid []error
}

// Items iterates over the items of all phases, in order.
func (p *Plan) Items() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for _, ph := range p.Phases {
			for _, item := range ph.Items {
				if !yield(item) {
					return
				}
			}
		}
	}
}

// Len returns the number of items.
func (p *Plan) Len() int {
	n := 0
	for _, ph := range p.Phases {
		n += len(ph.Items)
	}
	return n
}

// Phase is a group of objects that may be applied concurrently.
type Phase struct {
	// Name describes the phase for people, and is unique in the plan: "configuration", "workloads",
	// "workloads 2".
	Name string
	// Items are in input order.
	Items []Item
}

// Refs returns the Refs of the items, in order.
func (p Phase) Refs() []object.Ref {
	refs := make([]object.Ref, len(p.Items))
	for i, item := range p.Items {
		refs[i] = item.Ref
	}
	return refs
}

// Item is one object. Its namespace is set if its kind is namespaced, and empty otherwise. If the
// scope is unknown, the namespace is as written until [Item.Resolve].
type Item struct {
	object.Ref
	Source object.Source
	// Object is the manifest to send. It shares values with the input: copy it before changing it.
	Object *unstructured.Unstructured
	// Kind is the kind as the cluster serves it. If the cluster does not serve the kind yet, its
	// Resource is empty. If no CRD in the set declares the kind, either, all of Kind is empty.
	Kind object.Kind
	// Needs are the objects of the set in earlier phases without which this object cannot exist.
	// These are its namespace, its CRD, the objects that the API server looks up when this object
	// is written, and the objects in its depends-on annotation.
	Needs []object.Key
	// Bringers are the objects of the set that may make the server serve the kind of this object.
	// They are empty if the server already serves the kind. If there are none, it is pointless to
	// wait for the kind.
	Bringers []object.Key
	// OnlyIn are the versions of the kind's CRD in the set, if the object's version is not one of
	// them.
	OnlyIn []string
}

// Warning is about an object that can be applied despite the warning.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	// Text is one line, without Ref and Source. Detail is the end of the line, which is specific to
	// this object.
	Text, Detail string
}

// Build finds the scopes of the manifests and orders them. The objects of a phase stay in input
// order, so that the same input always has the same plan.
//
// If the cluster does not serve a kind, the scope comes from the kind's CRD in the set. Without a
// CRD, an operator in the set may install the kind. Its objects come last, with an empty Kind.
//
// If an object is in the set twice with the same content, it is planned once, with a warning.
// Different content, or another version, is an error, because either manifest could be the right
// one.
//
// The error joins all faults: namespaces that contradict -n, duplicate objects and malformed
// depends-on annotations. Only if there are none of these faults, Build looks for cycles of needs,
// and returns a *[CycleError] for each.
func Build(manifests []object.Manifest, o Options) (*Plan, error) {
	b, faults := gather(manifests, o, nil)
	if !o.SkipInvalid && len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if len(faults) > 0 {
		// Other objects must not need the omitted objects, so build the graph again.
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

// Faults returns the faults that Build finds even without knowing which kinds the cluster serves.
// An invalid input can thus be reported completely without a request.
func Faults(manifests []object.Manifest, o Options) []error {
	o.Kinds = nil
	_, faults := gather(manifests, o, nil)
	return faults
}

// gather makes a graph of the manifests, without the objects in but, and returns the faults of the
// manifests.
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

// add adds a manifest to the set unless it is a duplicate.
func (b *builder) add(m object.Manifest) []error {
	it := Item{Ref: m.Ref(), Source: m.Source, Object: m.Object}
	it, err := it.Resolve(b.kind(it.GVK), b.options)
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

func (b *builder) warn(it Item, text, detail string) {
	b.warnings = append(b.warnings, Warning{Ref: it.Ref, Source: it.Source, Text: text, Detail: detail})
}

// again handles a duplicate object.
func (b *builder) again(first, it Item) []error {
	// If the scope is unknown, one of the two manifests may lack the namespace.
	namespace := b.identity(it).Namespace
	detail := fmt.Sprintf(" (%s and %s)", first.Source, it.Source)
	switch {
	case reflect.DeepEqual(inNamespace(first.Object, namespace).Object, inNamespace(it.Object, namespace).Object):
		b.warn(it, "in the input twice with the same content; used once", detail)
		return nil
	case b.options.LastWins:
		b.warn(it, "in the input twice with different content; the last one is used", detail)
		b.nodes[b.index[b.identity(it)]].Item = it
		return nil
	}
	var faults []error
	if b.options.SkipInvalid && !b.faulty[b.identity(it)] { // The first manifest is omitted, too.
		faults = append(faults, first.twice(it))
	}
	b.faulty[b.identity(it)] = true
	return append(faults, it.twice(first))
}

func (it Item) twice(other Item) error {
	return it.fault("the same object is in the input twice, with different content", ": also at "+other.Source.String(),
		"remove one of them, or use the last one with --duplicates=last")
}

// fault returns a fault of the item. detail is the end of the text, which is specific to this item.
func (it Item) fault(text, detail, hint string) error {
	return &object.FaultError{Source: it.Source, Subject: it.String(), Text: text, Detail: detail, Advice: hint}
}

// link finds the needs of a node in the set.
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
			// The object may be in the cluster, from an earlier run or another tool. cli-utils
			// makes this an error.
			b.warn(it, fmt.Sprintf("depends on %s, which is not in the input: the order is not guaranteed", key.Ref()), "")
			continue
		}
		b.need(i, on)
	}
	return faults
}

// CycleError is a cycle of needs, in which no object can be applied before the others.
type CycleError struct {
	// Members start with the object that is first in the input. Each object needs the next one, and
	// the last object needs the first.
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
	return "an arrow means \"needs\"; remove one from a " + dependsOnAnnotation + " annotation"
}

// cycles returns an error for each strongly connected group of waiting nodes, so that users can
// correct each cycle separately.
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

// cycle returns the cycle that closes at a node of the path, or nil if a part of the cycle has been
// reported.
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
