package document

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

type surveyResult struct {
	header
	Objects    int            `json:"objects"`
	Unmanaged  int            `json:"unmanaged"`
	Managers   []surveyTotal  `json:"managers"`
	Holdings   []surveyRow    `json:"holdings"`
	Unexpected []surveyObject `json:"unexpected,omitempty"`
	Leaving    []surveyObject `json:"leaving,omitempty"`
	Unserved   []surveyStale  `json:"unserved,omitempty"`
	Unread     []unread       `json:"unread,omitempty"`
}

// surveyFields counts fields. Shared and Sole add up to Fields.
type surveyFields struct {
	Fields int `json:"fields"`
	Shared int `json:"shared"`
	Sole   int `json:"sole"`
}

func fieldsOfSurvey(f event.Fields) surveyFields {
	return surveyFields{Fields: f.All, Shared: f.Shared, Sole: f.Sole()}
}

type surveyTotal struct {
	Manager string `json:"manager"`
	Kinds   int    `json:"kinds"`
	Objects int    `json:"objects"`
	surveyFields
	// Expected is omitted without --expect.
	Expected *bool `json:"expected,omitempty"`
}

type surveyRow struct {
	managedfields.Owner
	Of      surveyKind `json:"of"`
	Objects int        `json:"objects"`
	surveyFields
}

type surveyKind struct {
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
}

type surveyObject struct {
	objectName
	Manager string `json:"manager"`
	surveyFields
	Paths []event.FieldName `json:"paths"`
}

type surveyStale struct {
	managedfields.Owner
	Of      surveyKind `json:"of"`
	Objects int        `json:"objects"`
}

type unread struct {
	objectName
	Error *fault `json:"error"`
}

func unreadOf(all []event.Unread) []unread {
	var out []unread
	for _, u := range all {
		out = append(out, unread{nameOf(u.Ref), faultOf(u.Err)})
	}
	return out
}

// NewSurvey returns the document of a survey of owners.
func NewSurvey(b output.Base) output.Results {
	return output.AtEnd(func(s event.Surveyed) error { return writeDocument(b, surveyOf(b, s)) })
}

func surveyOf(b output.Base, s event.Surveyed) surveyResult {
	out := surveyResult{
		header: newHeader(b, "SurveyResult"), Objects: s.Objects, Unmanaged: s.Unmanaged,
		Managers: []surveyTotal{}, Holdings: []surveyRow{},
		Unexpected: surveyObjectsOf(s.Unexpected), Leaving: surveyObjectsOf(s.Leaving), Unread: unreadOf(s.Unread),
	}
	for _, m := range s.Managers {
		total := surveyTotal{Manager: m.Manager, Kinds: m.Kinds, Objects: m.Objects, surveyFields: fieldsOfSurvey(m.Fields)}
		if s.Expecting {
			total.Expected = &m.Expected
		}
		out.Managers = append(out.Managers, total)
	}
	for _, h := range s.Holdings {
		out.Holdings = append(out.Holdings, surveyRow{
			h.Owner, kindOfSurvey(h.Kind), h.Objects, fieldsOfSurvey(h.Fields),
		})
	}
	for _, v := range s.Unserved {
		out.Unserved = append(out.Unserved, surveyStale{v.Owner, kindOfSurvey(v.Kind), v.Objects})
	}
	return out
}

func kindOfSurvey(kind schema.GroupKind) surveyKind { return surveyKind{kind.Group, kind.Kind} }

func surveyObjectsOf(holdings []event.ObjectHolding) []surveyObject {
	var out []surveyObject
	for _, h := range holdings {
		out = append(out, surveyObject{nameOf(h.Ref), h.Manager, fieldsOfSurvey(h.Fields), orEmpty(h.Paths)})
	}
	return out
}
