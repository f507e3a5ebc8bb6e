package document

import (
	"context"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

type ownersResult struct {
	header
	Objects []ownedObject `json:"objects"`
}

type ownedObject struct {
	objectName
	// Path is the requested path, if any.
	Path string `json:"path,omitempty"`
	// Managers are all owners in the object, with the number of their fields.
	Managers []managerEntry `json:"managers,omitempty"`
	Fields   []ownedField   `json:"fields"`
	// Images are the images that the Pods of a workload run.
	Images []event.Image `json:"images,omitempty"`
	// History is omitted if it was not requested or is unknown.
	History  *[]event.Transition `json:"history,omitempty"`
	Dropped  int                 `json:"historyDropped,omitempty"`
	Lost     int                 `json:"historyLost,omitempty"`
	Coverage *event.Coverage     `json:"historyCoverage,omitempty"`
	Error    *fault              `json:"historyError,omitempty"`
}

type managerEntry struct {
	managedfields.Owner
	Fields int `json:"fields"`
}

// ownedField is a path with its owners, or a path in which nothing has an owner.
type ownedField struct {
	Path   string                `json:"path"`
	Owners []managedfields.Owner `json:"owners"`
	Absent bool                  `json:"absent,omitempty"`
}

type ownersDocument struct {
	output.Base
	objects []ownedObject
}

// NewOwners returns the document of the verb owners.
func NewOwners(b output.Base) output.Results { return &ownersDocument{Base: b} }

func (d *ownersDocument) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Owned:
		d.objects = append(d.objects, ownedOf(e))
	case event.Runs:
		for i := range d.objects {
			if d.objects[i].objectName == nameOf(e.Ref) {
				d.objects[i].Images = e.Images
			}
		}
	}
}

func (d *ownersDocument) Finish(context.Context) error {
	return writeDocument(d.Base, ownersResult{
		header: newHeader(d.Base, "OwnersResult"), Objects: orEmpty(d.objects),
	})
}

func ownedOf(o event.Owned) ownedObject {
	out := ownedObject{objectName: nameOf(o.Ref), Path: o.Path.String(), Fields: []ownedField{}}
	for _, s := range o.Holdings {
		if s.Owner != (managedfields.Owner{}) {
			out.Managers = append(out.Managers, managerEntry{s.Owner, s.Fields})
		}
	}
	managedfields.Walk(slices.Concat(o.Fields, o.Absent), func(n managedfields.Node) {
		if n.Ownable() && (len(n.Owners) > 0 || len(n.Below) == 0) {
			out.Fields = append(out.Fields, ownedField{Path: n.Path.String(), Owners: orEmpty(n.Owners), Absent: n.Absent})
		}
	})
	if h := o.History; h != nil {
		out.Error = faultOf(h.Err)
		if h.Err == nil {
			entries := orEmpty(h.Transitions)
			out.History, out.Dropped, out.Lost, out.Coverage = &entries, h.Dropped, h.Lost, &h.Coverage
		}
	}
	return out
}

type historyResult struct {
	header
	From     time.Time      `json:"from,omitzero"`
	Changes  []changeEntry  `json:"changes"`
	Dropped  int            `json:"dropped,omitempty"`
	Lost     int            `json:"lost,omitempty"`
	Coverage event.Coverage `json:"coverage"`
	Limits   []string       `json:"limits,omitempty"`
}

type changeEntry struct {
	objectName
	event.Transition
}

// NewPastChanges returns the document of recorded changes in many objects.
func NewPastChanges(b output.Base) output.Results {
	return output.AtEnd(func(c event.PastChanges) error {
		out := historyResult{
			header: newHeader(b, "HistoryResult"), Changes: make([]changeEntry, len(c.Changes)), From: c.From.UTC(),
			Dropped: c.Dropped, Lost: c.Lost, Coverage: c.Coverage, Limits: c.Limits,
		}
		for i, change := range c.Changes {
			out.Changes[i] = changeEntry{nameOf(change.Ref), change.Transition}
		}
		return writeDocument(b, out)
	})
}
