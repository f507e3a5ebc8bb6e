package document

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

type result[T any] struct {
	// The version of the document's format.
	APIVersion string `json:"apiVersion"`
	// The kind of the document.
	Kind string `json:"kind"`
	// The ID of the run, with which the Audit-IDs of its requests begin.
	Run *string `json:"run,omitempty"`
	// Set in a dry run.
	DryRun bool `json:"dryRun,omitempty"`
	// For diff: the digest of all changes, for apply --confirm.
	Digest string `json:"digest,omitempty"`
	// For diff: a salted digest of the values of Secrets.
	Values string `json:"values,omitempty"`
	// The cluster of a diff.
	Cluster *event.Cluster `json:"cluster,omitempty"`
	// Why the run was refused because of --confirm.
	Error *fault `json:"error,omitempty"`
	// The object that stores the set, if this run creates one with --apply-set.
	NewSet *object.Ref `json:"newSet,omitempty"`
	// Warnings about the run as a whole.
	Warnings []string `json:"warnings,omitempty"`
	// Remarks about the run as a whole.
	Remarks []event.Remarked `json:"remarks,omitempty"`
	// The parts of the input that --skip-invalid skipped.
	LeftOut []*fault `json:"leftOut,omitempty"`
	// The Helm hooks that were skipped.
	HelmHooks []hookEntry `json:"helmHooks,omitempty"`
	// For stuck without names: each cause once, with the objects that it holds.
	Roots []rootEntry `json:"roots,omitempty"`
	// Every object of the input, in the order of the plan. For stuck: the objects that are terminating.
	Objects []T `json:"objects"`
	// The number of objects for each action. For stuck: the number of stuck objects and, if some could
	// not be read, of unknown ones.
	Summary any `json:"summary"`
}

// gathered collects the results of a verb and writes them as one document at the end.
type gathered[T interface{ ref() object.Ref }] struct {
	output.Base
	result  result[T]
	actions []event.Action
	// of returns the entry for an event, or nil if the event is not a result.
	of func(event.Event) *T
	// complete adds to an entry the facts that are known only at the end.
	complete func(*T, extras)
	suite    func(result[T]) junitSuite
	objects  output.PlanOrdered[T]
	warnings byObject[string]
	remarks  byObject[event.Remarked]
	decided  map[object.Key][]decidedEntry
	digests  map[object.Key]event.ReviewedObject
}

type extras struct {
	warnings []string
	remarks  []event.Remarked
	decided  []decidedEntry
	digest   event.ReviewedObject
}

func gather[T interface{ ref() object.Ref }](
	b output.Base, kind string, actions []event.Action, of func(event.Event) *T, complete func(*T, extras), suite func(result[T]) junitSuite,
) *gathered[T] {
	return &gathered[T]{
		Base: b, result: newResult[T](b, kind), actions: actions, of: of, complete: complete, suite: suite,
		warnings: byObject[string]{}, remarks: byObject[event.Remarked]{}, decided: map[object.Key][]decidedEntry{}, digests: map[object.Key]event.ReviewedObject{},
	}
}

func newResult[T any](b output.Base, kind string) result[T] {
	r := result[T]{APIVersion: apiVersion, Kind: kind, Objects: []T{}}
	if b.Run != "" {
		r.Run = &b.Run
	}
	return r
}

func only[E event.Event, T any](convert func(E) T) func(event.Event) *T {
	return func(e event.Event) *T {
		one, ok := e.(E)
		if !ok {
			return nil
		}
		entry := convert(one)
		return &entry
	}
}

func (d *gathered[T]) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Warned:
		addWarning(d.warnings, e)
	case event.Remarked:
		d.remarks[e.Ref.Key()] = append(d.remarks[e.Ref.Key()], e)
	case event.Decided:
		d.decided[e.Ref.Key()] = decidedOf(e)
	case event.Refused:
		d.result.Error = faultOf(e.Err)
		if d.Format != output.JUnit { // A report without a test would look like a success.
			d.State.Begun = true
		}
	case event.Reviewed:
		d.result.Digest, d.result.Values, d.result.Cluster = e.Digest, e.Values, &e.Cluster
		for _, o := range e.Objects {
			d.digests[o.Ref.Key()] = o
		}
	default:
		if o := d.of(e); o != nil {
			d.objects.Add(d.State.Place((*o).ref()), *o)
		}
	}
}

func (d *gathered[T]) Finish(context.Context) error {
	r := d.result
	r.Summary = summary{actions: d.actions, tally: d.State.Tally}
	for _, o := range d.objects.Drain() {
		key := o.ref().Key()
		d.complete(&o, extras{d.warnings.remove(key), d.remarks.remove(key), d.decided[key], d.digests[key]})
		r.Objects = append(r.Objects, o)
	}
	r.NewSet, r.Remarks = d.State.NewSet, d.remarks.remove(object.Key{})
	r.Warnings, r.LeftOut, r.HelmHooks = allWarnings(d.warnings), faultsOf(d.State.LeftOut), hooksOf(d.State.Hooks)
	return writeResult(d.Base, r, d.suite)
}

func writeResult[T any](b output.Base, r result[T], suite func(result[T]) junitSuite) error {
	if b.Format == output.JUnit {
		return writeSuite(b, suite(r))
	}
	return writeDocument(b, r)
}

func writeDocument(b output.Base, v any) error {
	write := func(v any) ([]byte, error) { return format.JSON(v, "  ") }
	switch b.Format {
	case output.YAML:
		write = format.YAML
	case output.KYAML:
		write = format.KYAML
	}
	text, err := write(v)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	b.Screen.Result(string(text))
	return nil
}

type summary struct {
	actions []event.Action
	tally   map[event.Action]int
}

// MarshalJSON writes the actions in their documented order.
func (s summary) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(s.actions))
	for i, action := range s.actions {
		parts[i] = fmt.Sprintf("%q:%d", action.Applied(), s.tally[action])
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

type hookEntry struct {
	objectName
	// File and line of the manifest.
	Source string `json:"source,omitempty"`
	// When Helm applies the object, such as pre-install.
	Hooks []string `json:"hooks"`
}

func hooksOf(hooks []event.Hook) []hookEntry {
	var entries []hookEntry
	for _, h := range hooks {
		entries = append(entries, hookEntry{nameOf(h.Ref), sourceOf(h.Source), orEmpty(h.On)})
	}
	return entries
}

const (
	apiVersion = "cli.k8sconnect.io/v1alpha1"
	// ownersVersion is the version of the documents of "owners", which other programs render. Fields
	// are only added to them.
	ownersVersion = "cli.k8sconnect.io/v1beta1"
)

type header struct {
	// The version of the document's format.
	APIVersion string `json:"apiVersion"`
	// The kind of the document.
	Kind string `json:"kind"`
	// The ID of the run, with which the Audit-IDs of its requests begin.
	Run string `json:"run,omitempty"`
}

func newHeader(b output.Base, kind string) header { return header{apiVersion, kind, b.Run} }

func newOwnersHeader(b output.Base, kind string) header { return header{ownersVersion, kind, b.Run} }

type rootEntry struct {
	event.Cause
	// The number of objects that the cause blocks.
	Count int `json:"count"`
	// The objects that the cause blocks.
	Holds []object.Ref `json:"holds"`
}

func rootedOf(r event.Rooted) rootEntry { return rootEntry{r.Cause, len(r.Holds), orEmpty(r.Holds)} }

type byObject[T any] map[object.Key][]T

func (m byObject[T]) remove(key object.Key) []T {
	list := m[key]
	delete(m, key)
	return list
}

func addWarning(to byObject[string], e event.Warned) {
	text := e.String()
	if e.Ref != (object.Ref{}) {
		text = e.Ref.String() + ": " + text
	}
	if key := e.Ref.Key(); !slices.Contains(to[key], text) {
		to[key] = append(to[key], text)
	}
}

func remarkTexts(entries []event.Remarked) []string {
	var message []string
	for _, r := range entries {
		line := r.Code + ": "
		if r.Path != "" {
			line += r.Path + ": "
		}
		if line += r.Text; r.Hint != "" {
			line += " (" + r.Hint + ")"
		}
		message = append(message, line)
	}
	return message
}

// allWarnings returns the warnings that do not belong to any result.
func allWarnings(from byObject[string]) []string {
	var texts []string
	for _, list := range from {
		texts = append(texts, list...)
	}
	slices.Sort(texts)
	return texts
}

type decidedEntry struct {
	// The path that the decision is about.
	Path string `json:"path"`
	// One of yielded, taken, left and overruled.
	Outcome string `json:"outcome"`
	// The source of the decision: --yield, --take, k8sconnect.io/yield, a position such as
	// k8sconnect.yaml:3:3, or built-in.
	By string `json:"by"`
	// The choice as you wrote it. Absent for built-in.
	Choice string `json:"choice,omitempty"`
}

// builtIn is the source of a decision made by the built-in table rather than by the user.
const builtIn = "built-in"

func decidedOf(e event.Decided) []decidedEntry {
	list := make([]decidedEntry, len(e.Decisions))
	for i, d := range e.Decisions {
		list[i] = decidedEntry{Path: d.Path.String(), Outcome: d.Outcome, By: cmp.Or(d.By, builtIn), Choice: d.Choice}
	}
	return list
}
