package printer

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
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
	base
	objects  planOrdered[keyed[waitedObject]]
	warnings warnings
}

func (d *waitDocument) take(e event.Event) {
	switch e := e.(type) {
	case event.Waited:
		d.objects.add(d.progress.place(e.Ref), keyed[waitedObject]{e.Ref, waitedOf(e)})
	case event.Warned:
		d.warnings.add(e)
	}
}

func (d *waitDocument) flush() {}

func (d *waitDocument) finish(context.Context) error {
	result := waitResult{
		APIVersion: apiVersion, Kind: "WaitResult", Run: d.Run, Objects: []waitedObject{},
		Summary: summary{actions: waitActions(), tally: d.progress.tally},
	}
	for _, o := range d.objects.drain() {
		o.value.Warnings = d.warnings.of(o.ref)
		result.Objects = append(result.Objects, o.value)
	}
	result.Warnings, result.LeftOut = d.warnings.rest(), faultsOf(d.progress.leftOut)
	result.HelmHooks = hooksOf(d.progress.hooks)
	if d.Format == JUnit {
		return d.junit(waitSuite(result))
	}
	return d.document(result)
}

// waitSuite makes each object of a wait a test: it failed if the object did not meet
// its conditions, and is an error if nobody can tell.
func waitSuite(result waitResult) junitSuite {
	suite := junitSuite{Name: "wait", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("wait", o.objectName, "", append(lines(o.Reason), o.Warnings...))
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
			for _, expr := range sortedKeys(c.Values) {
				text = append(text, expr+" is "+value(c.Values[expr]))
			}
		}
	}
	return text
}
