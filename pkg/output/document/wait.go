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
	// Only in a stream, for an object without progress: the time of its last change.
	Since *metav1.Time `json:"since,omitempty"`
	waitEntry
	// The images that the Pods of a workload run. At most ten workloads are examined.
	Images []event.Image `json:"images,omitempty"`
	// Warnings about the object.
	Warnings []string `json:"warnings,omitempty"`
	// Remarks about an object that is ready, but cannot work; see docs/unready.md.
	Remarks []event.Remarked `json:"remarks,omitempty"`
}

type waitEntry struct {
	// The result: met; failed (a --fail-on condition was met, the object can no longer become ready, or
	// a cause lasted too long); timeout (not met in time, or missing for too long); unmet (not met when
	// another object ended the wait, or with --local); deleted (found by --all or --field-selector, and
	// deleted before it met its conditions); unselected (found by labels, and deleted or relabeled);
	// unknown. Absent during the wait.
	Result event.Action `json:"result,omitempty"`
	// An explanation, for example that the object does not exist, or which time limit applied.
	Reason string `json:"reason,omitempty"`
	// Meeting one of the conditions is enough, as with --any.
	Any bool `json:"any,omitempty"`
	// The conditions, met or not, as they were last judged.
	Conditions []conditionEntry `json:"conditions,omitempty"`
	// Why the object does not meet its conditions, the most important first.
	Causes []event.Cause `json:"causes,omitempty"`
	// Why the result is unknown.
	Error *fault `json:"error,omitempty"`
}

type conditionEntry struct {
	// The condition, as in --for. Absent for a --fail-on condition.
	For string `json:"for,omitempty"`
	// The condition, as in --fail-on: the wait fails if it is met.
	FailOn string `json:"failOn,omitempty"`
	// The object meets the condition.
	Met bool `json:"met"`
	// The condition will not be met without intervention.
	Failed bool `json:"failed,omitempty"`
	// Why the condition is not met, for programs.
	Reason string `json:"reason,omitempty"`
	// Why the condition is not met, for people.
	Message string `json:"message,omitempty"`
	// The values that the condition read from the object, by expression.
	Values map[string]any `json:"values,omitempty"`
	// The paths in the condition that do not exist in the object.
	Absent []string `json:"absent,omitempty"`
	// Why the condition could not be evaluated.
	Error *fault `json:"error,omitempty"`
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
