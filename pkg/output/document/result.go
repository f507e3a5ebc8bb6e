package document

import (
	"context"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// result is the document of a run. T is the type of its objects.
type result[T any] struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Run        *string          `json:"run,omitempty"`
	DryRun     bool             `json:"dryRun,omitempty"`
	Digest     string           `json:"digest,omitempty"`    // of all that a diff found, for --confirm
	NewSet     *object.Ref      `json:"newSet,omitempty"`    // the parent of the set that begins
	Warnings   []string         `json:"warnings,omitempty"`  // of the run as a whole
	Remarks    []event.Remarked `json:"remarks,omitempty"`   // of the run as a whole
	LeftOut    []*fault         `json:"leftOut,omitempty"`   // of the input, with --skip-invalid
	HelmHooks  []hookEntry      `json:"helmHooks,omitempty"` // of the input, left out
	Roots      []rootEntry      `json:"roots,omitempty"`     // of stuck -A
	Objects    []T              `json:"objects"`
	Summary    any              `json:"summary"`
}

// gathered collects the results of a verb and writes them as one document at the end.
type gathered[T interface{ ref() object.Ref }] struct {
	output.Base
	// result is what is known about the document from the beginning.
	result  result[T]
	actions []event.Action
	// of returns the entry for an event, or nil if the event is not a result.
	of func(event.Event) *T
	// complete adds to an object what is known only at the end.
	complete func(*T, extras)
	suite    func(result[T]) junitSuite
	objects  output.PlanOrdered[T]
	warnings byObject[string]
	remarks  byObject[event.Remarked]
	decided  map[object.Key][]decidedEntry
	digests  map[object.Key]string
}

type extras struct {
	warnings []string
	remarks  []event.Remarked
	decided  []decidedEntry
	digest   string
}

func gather[T interface{ ref() object.Ref }](
	b output.Base, kind string, actions []event.Action, of func(event.Event) *T, complete func(*T, extras), suite func(result[T]) junitSuite,
) *gathered[T] {
	return &gathered[T]{
		Base: b, result: newResult[T](b, kind), actions: actions, of: of, complete: complete, suite: suite,
		warnings: byObject[string]{}, remarks: byObject[event.Remarked]{}, decided: map[object.Key][]decidedEntry{}, digests: map[object.Key]string{},
	}
}

func newResult[T any](b output.Base, kind string) result[T] {
	r := result[T]{APIVersion: apiVersion, Kind: kind, Objects: []T{}}
	if b.Run != "" {
		r.Run = &b.Run
	}
	return r
}

// only returns a function that converts events of type E and returns nil for others.
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
	case event.Reviewed:
		d.result.Digest = e.Digest
		for _, o := range e.Objects {
			d.digests[o.Ref.Key()] = o.Digest
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
		d.complete(&o, extras{d.warnings.take(key), d.remarks.take(key), d.decided[key], d.digests[key]})
		r.Objects = append(r.Objects, o)
	}
	r.NewSet, r.Remarks = d.State.NewSet, d.remarks.take(object.Key{})
	r.Warnings, r.LeftOut, r.HelmHooks = allWarnings(d.warnings), faultsOf(d.State.LeftOut), hooksOf(d.State.Hooks)
	return writeResult(d.Base, r, d.suite)
}

// writeResult writes a document, or a JUnit report, in the run's format.
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

// summary counts results by action, including actions without results.
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
	Source string   `json:"source,omitempty"`
	Hooks  []string `json:"hooks"`
}

func hooksOf(hooks []event.Hook) []hookEntry {
	var entries []hookEntry
	for _, h := range hooks {
		entries = append(entries, hookEntry{nameOf(h.Ref), sourceOf(h.Source), orEmpty(h.On)})
	}
	return entries
}
