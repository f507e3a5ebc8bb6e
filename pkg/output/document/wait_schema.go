package document

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

type waitedObject struct {
	objectName
	Since *metav1.Time `json:"since,omitempty"` // of what is stalled: nothing moved
	waitEntry
	Images   []event.Image    `json:"images,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	Remarks  []event.Remarked `json:"remarks,omitempty"`
}

// waitEntry is the result of waiting for an object. It is part of an ApplyResult too.
type waitEntry struct {
	Result     event.Action     `json:"result,omitempty"` // empty during the wait
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
