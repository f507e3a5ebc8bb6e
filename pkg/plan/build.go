package plan

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Build settles the scope of the manifests and puts them in order. Within a phase
// they keep the order of the input, so the same input gives the same plan.
//
// A kind that the cluster does not serve takes its scope from its definition in the
// set. A kind without a definition does not fail the plan either: an operator in the
// set may install it, so it comes last, with an empty Kind.
//
// An object that is in the set twice with the same content counts once, with a
// warning. With other content (or at another version) it is a fault, because nothing
// shows which of the two is meant.
//
// The error joins all faults: namespaces that contradict -n, objects that are in the
// set twice, malformed depends-on annotations, and, if there are none of these, a
// *[CycleError] for each cycle of needs.
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

// Faults returns the faults that can be found without a cluster: those that Build
// finds whatever kinds the cluster serves. With them a broken input is reported
// completely without a request.
func Faults(manifests []object.Manifest, o Options) []error {
	o.Kinds = nil
	_, faults := gather(manifests, o, nil)
	return faults
}

// gather makes a graph of the manifests, leaving out some objects, and reports what
// is wrong with them.
func gather(manifests []object.Manifest, o Options, but map[object.Key]bool) (*builder, []error) {
	b := &builder{
		options:     o,
		definitions: definitionsOf(manifests),
		nodes:       make([]node, 0, len(manifests)),
		index:       make(map[object.Key]int, len(manifests)),
		but:         but,
		faulty:      map[object.Key]bool{},
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

// add settles one manifest and adds it to the set unless it is there already.
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
	// If the scope is still unknown, an object may be written with the namespace and
	// without.
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

// twice is the fault of an item that is in the input at another place, too.
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
			// It may be in the cluster, from an earlier run or another tool: no
			// reason to refuse the rest. cli-utils makes it an error.
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
