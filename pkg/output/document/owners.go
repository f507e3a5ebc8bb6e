package document

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

type ownersResult struct {
	header
	// Each object with the owners of its fields.
	Objects []ownedObject `json:"objects"`
}

type ownedObject struct {
	objectName
	// The argument of --path.
	Path string `json:"path,omitempty"`
	// Managers lists all owners in the object, with the number of fields of each.
	Managers []managerEntry `json:"managers,omitempty"`
	// Each owned path once, with all its owners, and each path with no owner at or below it, with an
	// empty list of owners.
	Fields []ownedField `json:"fields"`
	// The images that the Pods of a workload run.
	Images []event.Image `json:"images,omitempty"`
	// With --history: the recorded changes of owners, the newest first.
	History *[]event.Transition `json:"history,omitempty"`
	// How many transitions did not fit into the record.
	Dropped int `json:"historyDropped,omitempty"`
	// How many transitions the webhook could not record.
	Lost int `json:"historyLost,omitempty"`
	// When the webhook watched objects of this kind and namespace.
	Coverage *event.Coverage `json:"historyCoverage,omitempty"`
	// Why the history is unknown. It replaces history.
	Error *fault `json:"historyError,omitempty"`
	// With --history, if the object does not exist: deletions of objects with this name, the newest
	// first.
	Deletions []deletionEntry `json:"deletions,omitempty"`
}

type managerEntry struct {
	managedfields.Owner
	// The number of fields that the owner has in the object.
	Fields int `json:"fields"`
}

// ownedField is a path with its owners.
type ownedField struct {
	// The path of the field, such as .spec.replicas.
	Path string `json:"path"`
	// All owners of the path. Empty if neither the path nor anything below it has an owner.
	Owners []managedfields.Owner `json:"owners"`
	// The path is owned, but not there.
	Absent bool `json:"absent,omitempty"`
}

type ownersDocument struct {
	output.Base
	objects []ownedObject
}

// NewOwners returns the document of the "owners" verb.
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
		header: newOwnersHeader(d.Base, "OwnersResult"), Objects: orEmpty(d.objects),
	})
}

func ownedOf(o event.Owned) ownedObject {
	out := ownedObject{objectName: nameOf(o.Ref), Path: o.Path.String(), Fields: []ownedField{}, Deletions: deletionsOf(o.Deletions)}
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
	// The start of the period, if --since was given.
	From time.Time `json:"from,omitzero"`
	// The changes of owners, the newest first.
	Changes []changeEntry `json:"changes"`
	// How many transitions did not fit into their records.
	Dropped int `json:"dropped,omitempty"`
	// How many transitions the webhook could not record.
	Lost int `json:"lost,omitempty"`
	// When the webhook watched.
	Coverage event.Coverage `json:"coverage"`
	// The kinds and namespaces that were not watched the whole time.
	Limits []string `json:"limits,omitempty"`
}

type changeEntry struct {
	objectName
	event.Transition
}

// NewPastChanges returns the document of recorded changes to many objects.
func NewPastChanges(b output.Base) output.Results {
	return output.AtEnd(func(c event.PastChanges) error {
		out := historyResult{
			header: newOwnersHeader(b, "HistoryResult"), Changes: make([]changeEntry, len(c.Changes)), From: c.From.UTC(),
			Dropped: c.Dropped, Lost: c.Lost, Coverage: c.Coverage, Limits: c.Limits,
		}
		for i, change := range c.Changes {
			out.Changes[i] = changeEntry{nameOf(change.Ref), change.Transition}
		}
		return writeDocument(b, out)
	})
}

type surveyResult struct {
	header
	// The number of objects that were counted.
	Objects int `json:"objects"`
	// How many of them have no managed fields.
	Unmanaged int `json:"unmanaged"`
	// The holdings of each manager.
	Managers []surveyTotal `json:"managers"`
	// The holdings of each owner in each kind. Empty with --summary.
	Holdings []surveyRow `json:"holdings"`
	// With --expect, each object and unexpected manager, with all paths outside the status.
	Unexpected []surveyObject `json:"unexpected,omitempty"`
	// Each object and manager in --from, with the paths of its sole fields.
	Leaving []surveyObject `json:"leaving,omitempty"`
	// Owners whose API version the server does not serve.
	Unserved []surveyStale `json:"unserved,omitempty"`
	// Kinds and objects that could not be listed or read.
	Unread []unread `json:"unread,omitempty"`
}

type surveyFields struct {
	// The number of fields.
	Fields int `json:"fields"`
	// How many of them another manager owns, too.
	Shared int `json:"shared"`
	// How many of them have no other owner.
	Sole int `json:"sole"`
}

func fieldsOfSurvey(f event.Fields) surveyFields {
	return surveyFields{Fields: f.All, Shared: f.Shared, Sole: f.Sole()}
}

type surveyTotal struct {
	// The name of the field manager.
	Manager string `json:"manager"`
	// The number of kinds in which the manager owns fields.
	Kinds int `json:"kinds"`
	// The number of objects in which the manager owns fields.
	Objects int `json:"objects"`
	surveyFields
	// With --expect: the manager was expected.
	Expected *bool `json:"expected,omitempty"`
}

type surveyRow struct {
	managedfields.Owner
	// The kind of the objects.
	Of surveyKind `json:"of"`
	// The number of objects of the kind in which the owner has fields.
	Objects int `json:"objects"`
	surveyFields
}

type surveyKind struct {
	// The API group. Absent for the core group.
	Group string `json:"group,omitempty"`
	// The kind.
	Kind string `json:"kind"`
}

type surveyObject struct {
	objectName
	// The name of the field manager.
	Manager string `json:"manager"`
	surveyFields
	// The fields in question, as the list that contains the entry describes.
	Paths []event.FieldName `json:"paths"`
}

type surveyStale struct {
	managedfields.Owner
	// The kind of the objects.
	Of surveyKind `json:"of"`
	// The number of objects of the kind in which the owner has fields at that version.
	Objects int `json:"objects"`
}

type unread struct {
	objectName
	// The reason.
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

type unmanagedResult struct {
	header
	// The number of objects that were examined.
	Objects int `json:"objects"`
	// The objects that no tool manages, the oldest first.
	Unmanaged []unmanagedEntry `json:"unmanaged"`
	// Kinds and objects that could not be listed or read.
	Unread []unread `json:"unread,omitempty"`
}

type unmanagedEntry struct {
	objectName
	// The manager that wrote most of the object; empty if the API server has recorded none.
	Manager string `json:"manager"`
	// True if people write under this name.
	Person bool `json:"person"`
	// When the object was created.
	Created time.Time `json:"created,omitzero"`
	// When the manager last wrote to it.
	Written time.Time `json:"written,omitzero"`
	// The manager's last write in any object.
	LastOfManager time.Time `json:"lastOfManager,omitzero"`
}

// NewUnmanaged returns the document of the objects that no tool manages.
func NewUnmanaged(b output.Base) output.Results {
	return output.AtEnd(func(u event.Unmanaged) error {
		out := unmanagedResult{header: newHeader(b, "UnmanagedResult"), Objects: u.Objects, Unmanaged: []unmanagedEntry{}, Unread: unreadOf(u.Unread)}
		for _, o := range u.Found {
			out.Unmanaged = append(out.Unmanaged, unmanagedEntry{nameOf(o.Ref), o.Manager, o.Person, o.Created.UTC(), o.Written.UTC(), o.LastOfManager.UTC()})
		}
		return writeDocument(b, out)
	})
}

func surveyOf(b output.Base, s event.Surveyed) surveyResult {
	out := surveyResult{
		header: newOwnersHeader(b, "SurveyResult"), Objects: s.Objects, Unmanaged: s.Unmanaged,
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

type migrationResult struct {
	header
	// Set in a dry run.
	DryRun bool `json:"dryRun,omitempty"`
	// The objects with owners at versions that the server does not serve.
	Objects []migratedObject `json:"objects"`
	// Kinds and objects that could not be listed or read.
	Unread []unread `json:"unread,omitempty"`
}

type migratedObject struct {
	objectName
	// The owners that were rewritten, in their previous form.
	Rewritten []managedfields.Owner `json:"rewritten"`
	// The owners that remain at their versions.
	Left []leftEntry `json:"left,omitempty"`
	// Why the object was not rewritten.
	Error *fault `json:"error,omitempty"`
}

type leftEntry struct {
	managedfields.Owner
	// The owner's paths that the served version lacks. Absent if that version has no schema.
	Unknown []event.FieldName `json:"unknown,omitempty"`
}

type migrationDocument struct {
	output.Base
	migrated []event.Migrated
	unread   []event.Unread
}

// NewMigration returns the document of a migration of owners.
func NewMigration(b output.Base) output.Results { return &migrationDocument{Base: b} }

func (d *migrationDocument) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Migrated:
		d.migrated = append(d.migrated, e)
	case event.MigrationEnded:
		d.unread = e.Unread
	}
}

func (d *migrationDocument) Finish(context.Context) error {
	slices.SortFunc(d.migrated, func(a, b event.Migrated) int { return a.Ref.Compare(b.Ref) })
	out := migrationResult{header: newHeader(d.Base, "MigrationResult"), DryRun: d.DryRun, Objects: []migratedObject{}, Unread: unreadOf(d.unread)}
	for _, m := range d.migrated {
		one := migratedObject{objectName: nameOf(m.Ref), Rewritten: orEmpty(m.Rewritten), Error: faultOf(m.Err)}
		for _, left := range m.Left {
			one.Left = append(one.Left, leftEntry{left.Owner, left.Unknown})
		}
		out.Objects = append(out.Objects, one)
	}
	return writeDocument(d.Base, out)
}
