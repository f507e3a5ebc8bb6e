package document

import (
	"maps"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// NewWait returns the document of a wait.
func NewWait(b output.Base) output.Results {
	images := map[object.Key][]event.Image{}
	of := func(e event.Event) *waitedObject {
		switch e := e.(type) {
		case event.Runs:
			images[e.Ref.Key()] = e.Images
		case event.Waited:
			o := waitedOf(e)
			return &o
		}
		return nil
	}
	complete := func(o *waitedObject, x extras) {
		o.Warnings, o.Remarks, o.Images = x.warnings, x.remarks, images[o.ref().Key()]
	}
	return gather(b, "WaitResult", output.WaitActions(), of, complete, waitSuite)
}

// waitSuite makes each object a test case, which fails if the object did not meet its conditions,
// and is an error if that is unknown.
func waitSuite(result result[waitedObject]) junitSuite {
	suite := junitSuite{Name: "wait", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("wait", o.objectName, "", slices.Concat(format.Lines(o.Reason), o.Warnings, remarkTexts(o.Remarks)))
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

func conditionTexts(conditions []conditionEntry) []string {
	var text []string
	for _, c := range conditions {
		if c.Met == (c.FailOn != "") {
			text = append(text, "not "+c.For+c.FailOn+": "+c.Message)
			for _, absent := range c.Absent {
				text = append(text, absent+" is absent")
			}
			for _, expr := range slices.Sorted(maps.Keys(c.Values)) {
				text = append(text, expr+" is "+format.Value(c.Values[expr]))
			}
		}
	}
	return text
}
