// Package noop decides from the live object whether an apply must ask the server first. Call
// [Evaluate], and then [BySchema] if the verdict is in doubt. The package sends no requests.
package noop

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Evaluate uses the live object to predict the result when the manager applies the manifest.
//
// [Unchanged] guarantees that the apply is a no-op: our Apply entry has exactly the manifest's
// paths, and every value equals the live one. [Clear] guarantees that an apply without force to
// this version of the object has no conflict. [Contested] guarantees that the server refuses such
// an apply, either because of a conflict or because the manifest does not fit the schema. Otherwise
// the verdict is [Doubtful], and only a dry run can tell. Contested and Doubtful come with the
// likely conflicts.
//
// The guarantees follow from managed fields and the rules of structured-merge-diff's Updater. They
// do not hold if a schema has changed between atomic and granular since the last write.
func Evaluate(live, manifest *unstructured.Unstructured, manager string) (Verdict, []managedfields.Conflict) {
	if live == nil || manifest == nil {
		return Doubtful, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return Doubtful, nil
	}
	return EvaluateFrom(live, entries, manifest, manager)
}

// EvaluateFrom is [Evaluate] with the decoded managed fields of the live object, which it does not
// modify.
func EvaluateFrom(live *unstructured.Unstructured, entries []managedfields.Entry, manifest *unstructured.Unstructured, manager string) (Verdict, []managedfields.Conflict) {
	j := evaluation{live: live.Object, manifest: manifest.Object, manager: manager}
	if !j.comparable() {
		return Doubtful, nil
	}
	if len(entries) == 0 {
		// The object has no managed fields (edge case 17). If the manifest sets nothing, as for a
		// Namespace, the apply changes nothing. If the manifest sets something, the managed fields
		// were cleared, and the server would assign every field to "before-first-apply".
		if SetsNothing(j.manifest) {
			return Unchanged, nil
		}
		return Doubtful, nil
	}
	j.setEntries(entries)
	if j.settled() {
		return Unchanged, nil
	}
	return j.contested()
}

// SetsNothing reports whether a manifest only names its object, as that of a Namespace often does. An apply of
// it owns no field.
func SetsNothing(object map[string]any) bool {
	for name := range object {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			return false
		}
	}
	meta, _ := object["metadata"].(map[string]any)
	for name := range meta {
		if !fieldpath.IsUnowned(name) {
			return false
		}
	}
	return true
}

// Verdict is the predicted result of an apply.
type Verdict int

const (
	// Doubtful means that only the server knows whether there is a conflict or a change.
	Doubtful Verdict = iota
	// Clear means that the manifest certainly changes something, and has no conflict.
	Clear
	// Unchanged means that the apply is a no-op.
	Unchanged
	// Contested means that an apply without force has a conflict, if the server accepts the
	// manifest at all. There may be more conflicts than the known ones.
	Contested
)

func (v Verdict) String() string {
	switch v {
	case Clear:
		return "clear"
	case Unchanged:
		return "unchanged"
	case Contested:
		return "contested"
	case Doubtful:
	}
	return "doubtful"
}

type evaluation struct {
	live, manifest map[string]any
	manager        string
	ours           *fieldpath.Set
	others         []managedfields.Entry
	// oneVersion means that all entries have the manifest's API version.
	oneVersion bool
	types      *openapi.Schema
	// statusApart means that the kind has a status subresource. The server then ignores the status
	// in an apply.
	statusApart bool
}

// comparable reports whether the manifest can be compared with the live object without the server: both have
// the same version, and metadata that no manager owns, such as a UID, is equal. Otherwise the server may
// refuse the request.
func (j *evaluation) comparable() bool {
	for _, name := range []string{"apiVersion", "kind"} {
		if s, ok := j.manifest[name].(string); !ok || s == "" || j.live[name] != any(s) {
			return false
		}
	}
	meta, ok := j.manifest["metadata"].(map[string]any)
	if !ok {
		return false
	}
	live, _ := j.live["metadata"].(map[string]any)
	for name, v := range meta {
		if !fieldpath.IsUnowned(name) || v == nil && name == "creationTimestamp" {
			continue
		}
		if lv, has := live[name]; !has || name == "managedFields" || !fieldpath.Equal(v, lv) {
			return false
		}
	}
	return true
}

func (j *evaluation) setEntries(entries []managedfields.Entry) {
	j.oneVersion, j.others = true, make([]managedfields.Entry, 0, len(entries))
	for _, e := range entries {
		if e.APIVersion != j.manifest["apiVersion"] {
			j.oneVersion = false
		}
		if e.Subresource == "status" {
			j.statusApart = true
		}
		if e.Is(j.manager) {
			j.ours = e.Fields
		} else {
			j.others = append(j.others, e)
		}
	}
	if j.ours == nil {
		j.ours = fieldpath.NewSet()
	}
}

// declared calls f for the top-level fields and the metadata fields that can have an owner. It stops
// when f returns false.
func (j *evaluation) declared(f func(name string, v any, inMetadata bool) bool) bool {
	for name, v := range j.manifest {
		switch {
		case name == "apiVersion" || name == "kind" || name == "metadata":
		case name == "status" && j.statusApart:
		case !f(name, v, false):
			return false
		}
	}
	meta, _ := j.manifest["metadata"].(map[string]any)
	for name, v := range meta {
		if !fieldpath.IsUnowned(name) && !f(name, v, true) {
			return false
		}
	}
	return true
}

func (j *evaluation) isSecret() bool {
	return j.manifest["kind"] == "Secret" && j.manifest["apiVersion"] == "v1"
}

// BySchema reports whether an apply is a no-op. Call it if the verdict of [Evaluate] was in doubt.
// The schema shows which values are atomic, which defaults the server adds inside them, and which
// values are quantities. schema is called only if that might help, and may return nil.
//
// The schema must be current, with resolved references. It need not have the defaults of
// Kubernetes' own kinds, because the server sets them whenever it reads an object.
func BySchema(live, manifest *unstructured.Unstructured, manager string, schema func() openapi.Type) bool {
	entries, err := managedfields.Entries(live)
	return err == nil && BySchemaFrom(live, entries, manifest, manager, schema)
}

// BySchemaFrom is [BySchema] with the decoded managed fields of the live object, which it does not
// modify.
func BySchemaFrom(live *unstructured.Unstructured, entries []managedfields.Entry, manifest *unstructured.Unstructured, manager string, schema func() openapi.Type) bool {
	j := &evaluation{live: live.Object, manifest: manifest.Object, manager: manager}
	if !j.comparable() || len(entries) == 0 {
		return false
	}
	j.setEntries(entries)
	j.types = &openapi.Schema{Fetch: schema}
	return j.settled()
}
