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

// result is the document of a run with objects of one type.
type result[T any] struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Run        *string          `json:"run,omitempty"`
	DryRun     bool             `json:"dryRun,omitempty"`
	Digest     string           `json:"digest,omitempty"`    // of all that a diff found, for --confirm
	NewSet     *objectName      `json:"newSet,omitempty"`    // the parent of the set that begins
	Warnings   []string         `json:"warnings,omitempty"`  // of the run as a whole
	Remarks    []event.Remarked `json:"remarks,omitempty"`   // of the run as a whole
	LeftOut    []*fault         `json:"leftOut,omitempty"`   // of the input, with --skip-invalid
	HelmHooks  []hookEntry      `json:"helmHooks,omitempty"` // of the input, left out
	Roots      []rootEntry      `json:"roots,omitempty"`     // of stuck -A
	Objects    []T              `json:"objects"`
	Summary    any              `json:"summary"`
}

// newResult returns the document of a run with nothing in it.
func newResult[T any](b output.Base, kind string) result[T] {
	r := result[T]{APIVersion: apiVersion, Kind: kind, Objects: []T{}}
	if b.Run != "" {
		r.Run = &b.Run
	}
	return r
}

// gathered collects the results of a verb and writes them as one document at the end.
type gathered[T any] struct {
	output.Base
	// result is the part of the document that is known from the beginning.
	result  result[T]
	actions []event.Action
	// of returns the entry for an event, or nil if the event is no result.
	of func(event.Event) (object.Ref, *T)
	// complete adds to an object what is known only at the end.
	complete func(*T, object.Ref, told)
	suite    func(result[T]) junitSuite
	objects  output.PlanOrdered[keyed[T]]
	warnings warnings
	remarks  remarks
	decided  map[object.Key][]decidedEntry
	digests  map[object.Key]string
}

// told holds what was reported about an object besides its result.
type told struct {
	warnings []string
	remarks  []event.Remarked
	decided  []decidedEntry
	digest   string
}

// keyed is a result with its object, by which warnings find it.
type keyed[T any] struct {
	ref   object.Ref
	value T
}

func (d *gathered[T]) Handle(e event.Event) {
	if warned, ok := e.(event.Warned); ok {
		d.warnings.add(warned)
		return
	}
	if remarked, ok := e.(event.Remarked); ok {
		if d.remarks == nil {
			d.remarks = remarks{}
		}
		d.remarks[remarked.Ref.Key()] = append(d.remarks[remarked.Ref.Key()], remarked)
		return
	}
	if decided, ok := e.(event.Decided); ok {
		if d.decided == nil {
			d.decided = map[object.Key][]decidedEntry{}
		}
		d.decided[decided.Ref.Key()] = decidedOf(decided)
		return
	}
	if reviewed, ok := e.(event.Reviewed); ok {
		d.result.Digest, d.digests = reviewed.Digest, map[object.Key]string{}
		for _, o := range reviewed.Objects {
			d.digests[o.Ref.Key()] = o.Digest
		}
		return
	}
	if ref, o := d.of(e); o != nil {
		d.objects.Add(d.State.Place(ref), keyed[T]{ref, *o})
	}
}

func (d *gathered[T]) Finish(context.Context) error {
	r := d.result
	r.Summary = summary{actions: d.actions, tally: d.State.Tally}
	for _, o := range d.objects.Drain() {
		d.complete(&o.value, o.ref, told{d.warnings.of(o.ref), d.remarks.of(o.ref), d.decided[o.ref.Key()], d.digests[o.ref.Key()]})
		r.Objects = append(r.Objects, o.value)
	}
	r.Remarks = d.remarks.of(object.Ref{})
	r.Warnings, r.LeftOut, r.HelmHooks = d.warnings.rest(), faultsOf(d.State.LeftOut), hooksOf(d.State.Hooks)
	if begun := d.State.NewSet; begun != nil {
		parent := nameOf(*begun)
		r.NewSet = &parent
	}
	return writeResult(d.Base, r, d.suite)
}

// writeResult writes a document in the run's format, which may be a JUnit report.
func writeResult[T any](b output.Base, r result[T], suite func(result[T]) junitSuite) error {
	if b.Format == output.JUnit {
		return writeSuite(b, suite(r))
	}
	return writeDocument(b, r)
}

// writeDocument writes a value as JSON, YAML or KYAML.
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

// summary counts results by action, including actions without results; as JSON, its keys have a
// fixed order.
type summary struct {
	actions []event.Action
	tally   map[event.Action]int
}

// MarshalJSON keeps the contract's order of the actions.
func (s summary) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(s.actions))
	for i, action := range s.actions {
		parts[i] = fmt.Sprintf("%q:%d", action.Applied(), s.tally[action])
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// hookEntry is a Helm hook in JSON.
type hookEntry struct {
	objectName
	Source string   `json:"source,omitempty"`
	Hooks  []string `json:"hooks"`
}

func hooksOf(hooks []event.Hook) []hookEntry {
	var entries []hookEntry
	for _, h := range hooks {
		on := h.On
		if on == nil {
			on = []string{}
		}
		entries = append(entries, hookEntry{objectName: nameOf(h.Ref), Source: sourceOf(h.Source), Hooks: on})
	}
	return entries
}
