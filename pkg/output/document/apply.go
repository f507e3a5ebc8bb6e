package document

import (
	"context"
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/encode"
)

// applyResult is the document of an apply.
type applyResult struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Run        string          `json:"run"`
	DryRun     bool            `json:"dryRun,omitempty"`
	Warnings   []string        `json:"warnings,omitempty"`  // of the run as a whole
	LeftOut    []*fault        `json:"leftOut,omitempty"`   // of the input, with --skip-invalid
	HelmHooks  []hookEntry     `json:"helmHooks,omitempty"` // of the input, left out
	Objects    []appliedObject `json:"objects"`
	Summary    summary         `json:"summary"`
}

// diffResult is the document of a diff.
type diffResult struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Run        string           `json:"run,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
	LeftOut    []*fault         `json:"leftOut,omitempty"`   // of the input, with --skip-invalid
	HelmHooks  []hookEntry      `json:"helmHooks,omitempty"` // of the input, left out
	Objects    []comparedObject `json:"objects"`
	Summary    summary          `json:"summary"`
}

// applyDocument gathers all results of an apply and writes them at the end.
type applyDocument struct {
	output.Base
	objects  output.PlanOrdered[keyed[appliedObject]]
	waited   map[object.Key]*waitEntry
	warnings warnings
}

// diffDocument gathers all results of a diff and writes them at the end.
type diffDocument struct {
	output.Base
	objects  output.PlanOrdered[keyed[comparedObject]]
	warnings warnings
}

// keyed is a result with the identity by which warnings find it.
type keyed[T any] struct {
	ref   object.Ref
	value T
}

// NewApply returns the document of an apply.
func NewApply(b output.Base) output.Results {
	return &applyDocument{Base: b, waited: map[object.Key]*waitEntry{}, warnings: warnings{}}
}

// NewDiff returns the document of a diff.
func NewDiff(b output.Base) output.Results {
	return &diffDocument{Base: b, warnings: warnings{}}
}

func (d *applyDocument) Take(e event.Event) {
	switch e := e.(type) {
	case event.Applied:
		d.objects.Add(d.State.Place(e.Ref), keyed[appliedObject]{e.Ref, appliedOf(e)})
	case event.Waited:
		d.waited[e.Ref.Key()] = waitEntryOf(e)
	case event.Warned:
		d.warnings.add(e)
	}
}

func (d *diffDocument) Take(e event.Event) {
	switch e := e.(type) {
	case event.Compared:
		d.objects.Add(d.State.Place(e.Ref), keyed[comparedObject]{e.Ref, comparedOf(e)})
	case event.Warned:
		d.warnings.add(e)
	}
}

func (d *applyDocument) Flush() {}

func (d *diffDocument) Flush() {}

func (d *applyDocument) Finish(context.Context) error {
	result := applyResult{
		APIVersion: apiVersion,
		Kind:       "ApplyResult",
		Run:        d.Run,
		DryRun:     d.DryRun,
		Objects:    []appliedObject{},
		Summary:    summary{actions: output.ApplyActions(), tally: d.State.Tally},
	}
	for _, o := range d.objects.Drain() {
		o.value.Warnings, o.value.Wait = d.warnings.of(o.ref), d.waited[o.ref.Key()]
		result.Objects = append(result.Objects, o.value)
	}
	result.Warnings, result.LeftOut = d.warnings.rest(), faultsOf(d.State.LeftOut)
	result.HelmHooks = hooksOf(d.State.Hooks)
	if d.Format == output.JUnit {
		return writeSuite(d.Base, applySuite(result, d.State.InFlags()))
	}
	return writeDocument(d.Base, result)
}

func (d *diffDocument) Finish(context.Context) error {
	result := diffResult{
		APIVersion: apiVersion,
		Kind:       "DiffResult",
		Run:        d.Run,
		Objects:    []comparedObject{},
		Summary:    summary{actions: output.DiffActions(), tally: d.State.Tally},
	}
	for _, o := range d.objects.Drain() {
		o.value.Warnings = d.warnings.of(o.ref)
		result.Objects = append(result.Objects, o.value)
	}
	result.Warnings, result.LeftOut = d.warnings.rest(), faultsOf(d.State.LeftOut)
	result.HelmHooks = hooksOf(d.State.Hooks)
	if d.Format == output.JUnit {
		return writeSuite(d.Base, diffSuite(result))
	}
	return writeDocument(d.Base, result)
}

// writeDocument writes a value as JSON, YAML or KYAML.
func writeDocument(b output.Base, v any) error {
	write := func(v any) ([]byte, error) { return encode.JSON(v, "  ") }
	switch b.Format {
	case output.YAML:
		write = encode.YAML
	case output.KYAML:
		write = encode.KYAML
	}
	text, err := write(v)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	b.Screen.Result(string(text))
	return nil
}
