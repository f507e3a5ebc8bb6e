package document

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

type waitedObject struct {
	objectName
	// The time of the last progress, if stalled.
	Since *metav1.Time `json:"since,omitempty"`
	waitEntry
	Images   []event.Image    `json:"images,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	Remarks  []event.Remarked `json:"remarks,omitempty"`
}

type waitEntry struct {
	// Empty during the wait.
	Result     event.Action     `json:"result,omitempty"`
	Reason     string           `json:"reason,omitempty"`
	Any        bool             `json:"any,omitempty"`
	Conditions []conditionEntry `json:"conditions,omitempty"`
	Causes     []event.Cause    `json:"causes,omitempty"`
	Error      *fault           `json:"error,omitempty"`
}

type conditionEntry struct {
	For     string         `json:"for,omitempty"`
	FailOn  string         `json:"failOn,omitempty"`
	Met     bool           `json:"met"`
	Failed  bool           `json:"failed,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	Values  map[string]any `json:"values,omitempty"`
	Absent  []string       `json:"absent,omitempty"`
	Error   *fault         `json:"error,omitempty"`
}

func waitedOf(w event.Waited) waitedObject {
	return waitedObject{objectName: nameOf(w.Ref), waitEntry: waitEntry{
		Result: w.Action, Reason: w.Note, Any: w.Any, Conditions: conditionsOf(w.Conditions), Causes: w.Causes, Error: faultOf(w.Err),
	}}
}

func judgedOf(j event.Judged) waitedObject {
	return waitedObject{objectName: nameOf(j.Ref), waitEntry: waitEntry{Reason: j.Note, Conditions: conditionsOf(j.Conditions)}}
}

func stalledOf(e event.Stalled) waitedObject {
	return waitedObject{objectName: nameOf(e.Ref), Since: &metav1.Time{Time: e.Since}, waitEntry: waitEntry{Causes: e.Causes}}
}

func conditionsOf(conditions []event.Condition) []conditionEntry {
	var list []conditionEntry
	for _, c := range conditions {
		entry := conditionEntry{
			For: c.For, Met: c.Met, Failed: c.Failed, Reason: c.Reason, Message: c.Message, Error: faultOf(c.Err),
		}
		if c.Forbidden {
			entry.For, entry.FailOn = "", c.For
		}
		for _, v := range c.Values {
			if v.Absent {
				entry.Absent = append(entry.Absent, v.Expr)
				continue
			}
			if entry.Values == nil {
				entry.Values = map[string]any{}
			}
			entry.Values[v.Expr] = v.Value
		}
		list = append(list, entry)
	}
	return list
}
