package document

import (
	"context"
	"maps"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
)

// waitResult is the document of a wait.
type waitResult struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Run        string         `json:"run,omitempty"`
	Warnings   []string       `json:"warnings,omitempty"`
	LeftOut    []*fault       `json:"leftOut,omitempty"`   // of the input, with --skip-invalid
	HelmHooks  []hookEntry    `json:"helmHooks,omitempty"` // of the input, left out
	Objects    []waitedObject `json:"objects"`
	Summary    summary        `json:"summary"`
}

// waitDocument gathers all results of a wait and writes them at the end.
type waitDocument struct {
	output.Base
	objects  output.PlanOrdered[keyed[waitedObject]]
	warnings warnings
}

// NewWait returns the document of a wait.
func NewWait(b output.Base) output.Results { return &waitDocument{Base: b, warnings: warnings{}} }

func (d *waitDocument) Take(e event.Event) {
	switch e := e.(type) {
	case event.Waited:
		d.objects.Add(d.State.Place(e.Ref), keyed[waitedObject]{e.Ref, waitedOf(e)})
	case event.Warned:
		d.warnings.add(e)
	}
}

func (d *waitDocument) Flush() {}

func (d *waitDocument) Finish(context.Context) error {
	result := waitResult{
		APIVersion: apiVersion, Kind: "WaitResult", Run: d.Run, Objects: []waitedObject{},
		Summary: summary{actions: output.WaitActions(), tally: d.State.Tally},
	}
	for _, o := range d.objects.Drain() {
		o.value.Warnings = d.warnings.of(o.ref)
		result.Objects = append(result.Objects, o.value)
	}
	result.Warnings, result.LeftOut = d.warnings.rest(), faultsOf(d.State.LeftOut)
	result.HelmHooks = hooksOf(d.State.Hooks)
	if d.Format == output.JUnit {
		return writeSuite(d.Base, waitSuite(result))
	}
	return writeDocument(d.Base, result)
}

// waitSuite makes each object of a wait a test: it failed if the object did not meet
// its conditions, and is an error if nobody can tell.
func waitSuite(result waitResult) junitSuite {
	suite := junitSuite{Name: "wait", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("wait", o.objectName, "", append(layout.Lines(o.Reason), o.Warnings...))
		details := append(conditionTexts(o.Conditions), causeTexts(o.Causes)...)
		switch o.Result { //nolint:exhaustive // all others went well
		case event.Failed, event.TimedOut:
			c.Failure = problem(o.Result, o.Error, details)
		case event.Unknown:
			c.Error = problem(o.Result, o.Error, details)
		case event.Unmet, event.Gone, event.Unselected:
			c.Skipped = problem(o.Result, o.Error, details)
		}
		suite.add(c)
	}
	return suite
}

// conditionTexts are conditions that are not as they should be, as a report shows
// them.
func conditionTexts(conditions []conditionEntry) []string {
	var text []string
	for _, c := range conditions {
		if c.Met == (c.FailOn != "") {
			text = append(text, "not "+c.For+c.FailOn+": "+c.Message)
			for _, absent := range c.Absent {
				text = append(text, absent+" is absent")
			}
			for _, expr := range slices.Sorted(maps.Keys(c.Values)) {
				text = append(text, expr+" is "+phrase.Value(c.Values[expr]))
			}
		}
	}
	return text
}
