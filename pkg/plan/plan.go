// Package plan orders objects into phases. The objects of a phase may be applied concurrently.
// Start with [Build]. An object's class is its earliest phase; the objects that it needs may move
// it to a later one. The package reads no files and sends no requests.
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

// Options is the input of Build apart from the manifests.
type Options struct {
	// Kinds contains those kinds of the manifests that the cluster serves. Other kinds come from
	// the CRDs of the set.
	Kinds map[schema.GroupVersionKind]object.Kind
	// Namespace applies to namespaced objects without one; empty means "default".
	Namespace string
	// Enforced means that the user set -n, so a manifest with another namespace is an error.
	Enforced bool
	// SkipInvalid omits faulty objects and lists them in [Plan].Invalid. A cycle of needs is always
	// an error.
	SkipInvalid bool
	// LastWins keeps the last of several manifests of one object, like kubectl. Without it,
	// differing manifests are an error.
	LastWins bool
}

// Plan is an ordered set of objects.
type Plan struct {
	Phases   []Phase
	Warnings []Warning
	// Invalid contains the faults of the objects that [Options].SkipInvalid skipped.
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
	// Name is unique in the plan: "configuration", "workloads", "workloads 2".
	Name  string
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

// Item is one object. If its scope is unknown, its namespace stays as written until [Item.Resolve].
type Item struct {
	object.Ref
	Source object.Source
	// Object is the manifest to send. It shares values with the input: copy it before changing it.
	Object *unstructured.Unstructured
	// Kind has an empty Resource if the cluster does not serve it yet. If no CRD of the set
	// declares it either, Kind is empty.
	Kind object.Kind
	// Needs are the objects in earlier phases that must exist before this object is written.
	Needs []object.Key
	// Bringers are the objects of the set that may install the object's kind. There are none if the
	// server serves the kind.
	Bringers []object.Key
	// OnlyIn contains the versions in the set's CRD for the kind. It is empty if the object's
	// version is one of them.
	OnlyIn []string
	// Origin is set for a copy from a cluster that had bound fields.
	Origin *object.Origin
}

// Warning concerns an object that can still be applied.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	// Text is a single line that does not contain Ref or Source. Detail is appended to Text and is
	// specific to this object.
	Text, Detail string
}

// Build finds the scope of each manifest and orders the manifests. The same input always produces
// the same plan. Two equal manifests of one object are planned once, with a warning; different ones
// are an error. The error joins all faults. If there are no faults, or if they are skipped, the
// error joins a *[CycleError] for each cycle of needs.
func Build(manifests []object.Manifest, o Options) (*Plan, error) {
	b, faults := gather(manifests, o, nil)
	if !o.SkipInvalid && len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if len(faults) > 0 {
		// Other objects must not depend on the omitted objects, so build the graph again.
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

// Faults returns the faults that Build can find without the cluster's kinds, and thus without any
// request.
func Faults(manifests []object.Manifest, o Options) []error {
	o.Kinds = nil
	_, faults := gather(manifests, o, nil)
	return faults
}

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

func (b *builder) add(m object.Manifest) []error {
	it := Item{Ref: m.Ref(), Source: m.Source, Object: m.Object, Origin: m.Origin}
	it, err := it.Resolve(b.kind(it.GVK), b.options)
	if err != nil {
		return []error{err}
	}
	key := b.identity(it)
	if b.but[key] {
		return nil
	}
	if first, twice := b.index[key]; twice {
		return b.duplicate(b.nodes[first].Item, it)
	}
	b.index[key] = len(b.nodes)
	b.nodes = append(b.nodes, node{Item: it})
	return nil
}

func (b *builder) warn(it Item, text, detail string) {
	b.warnings = append(b.warnings, Warning{Ref: it.Ref, Source: it.Source, Text: text, Detail: detail})
}

// duplicate handles a second manifest of the same object.
func (b *builder) duplicate(first, it Item) []error {
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
	if b.options.SkipInvalid && !b.faulty[b.identity(it)] {
		faults = append(faults, first.twice(it))
	}
	b.faulty[b.identity(it)] = true
	return append(faults, it.twice(first))
}

func (it Item) twice(other Item) error {
	return it.fault("the same object is in the input twice, with different content", ": also at "+other.Source.String(),
		"remove one of them, or use the last one with --duplicates=last")
}

func (it Item) fault(text, detail, hint string) error {
	return &object.FaultError{Source: it.Source, Subject: it.String(), Text: text, Detail: detail, Advice: hint}
}

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
			// The object may already be in the cluster, from an earlier run or another tool.
			// cli-utils treats this as an error.
			b.warn(it, fmt.Sprintf("depends on %s, which is not in the input: the order is not guaranteed", key.Ref()), "")
			continue
		}
		b.need(i, on)
	}
	return faults
}

// CycleError is a cycle of needs, in which no object can be applied before the others.
type CycleError struct {
	// Members starts with the object that comes first in the input. Each member needs the next one,
	// and the last needs the first.
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
	return "an arrow means \"needs\"; remove a reference from a " + dependsOnAnnotation + " annotation"
}

// cycles returns an error for each cycle that it finds among the waiting nodes, except cycles that
// share a node with an earlier one.
func (b *builder) cycles(waiting []int) error {
	var (
		faults []error
		path   []int
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

// cycle returns the error for the cycle formed by the end of the path, starting with the given node
// (at). It returns nil if part of the cycle was already reported.
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
