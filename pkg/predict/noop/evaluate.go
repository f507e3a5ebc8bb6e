// Package noop decides from the live object alone whether an apply has to ask the server first:
// [Unchanged] and [Clear] are promises, [Doubtful] means that only a dry run knows. Start with
// [Evaluate].
package noop

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Evaluate predicts, from the live object alone, an apply of a manifest by a manager. Both objects
// must have the same apiVersion.
//
// [Unchanged] promises that the apply is a no-op: the manager's Apply entry holds exactly the paths
// that the manifest states, and every value is the live one. [Clear] promises that an apply without
// force meets no conflict, as long as the live object stays as it is: no one else holds a path that
// the manifest would set to another value. [Contested] promises that the server refuses it for a
// conflict. Everything else is [Doubtful]; only a dry run knows. Both come with the likely
// conflicts, as far as the sets show them.
//
// The promises rest on the object's managed fields and on the rules of structured-merge-diff's
// Updater. They do not see a schema that turned from atomic to granular or back since the last
// write.
func Evaluate(live, manifest *unstructured.Unstructured, manager string) (Verdict, []managedfields.Conflict) {
	if live == nil || manifest == nil {
		return Doubtful, nil
	}
	j := evaluation{live: live.Object, manifest: manifest.Object, manager: manager}
	if !j.comparable() {
		return Doubtful, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return Doubtful, nil
	}
	if len(entries) == 0 {
		return j.unowned(), nil
	}
	j.setEntries(entries)
	if j.settled() {
		return Unchanged, nil
	}
	return j.contested()
}

// unowned evaluates an object without managed fields (edge case 17). Either the manifest states
// nothing, like a ServiceAccount, a Namespace or a Secret with nothing but a name: then nothing
// changes, whatever the server put into the object. Or the entries were cleared: then the server
// would first assign everything in the object to the manager "before-first-apply". (It would do
// that once for a manifest that states nothing, too; such an entry owns nothing of value.)
func (j *evaluation) unowned() Verdict {
	if statesNothing(j.manifest) {
		return Unchanged
	}
	return Doubtful
}

// statesNothing reports whether an object has no field that can be owned.
func statesNothing(object map[string]any) bool {
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

// Verdict is the result of applying a manifest as far as the live object shows it.
type Verdict int

const (
	// Doubtful: there may be a conflict, or the sets do not decide. Ask the server.
	Doubtful Verdict = iota
	// Clear: the manifest changes something, and no one else owns any of it with another value.
	Clear
	// Unchanged: applying the manifest is a no-op.
	Unchanged
	// Contested: an apply without force meets a conflict. Only the server knows whether there are
	// more.
	Contested
)

// String returns the verdict in lower case.
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
	// oneVersion: all entries are at the manifest's version.
	oneVersion bool
	// types are consulted where the sets leave doubt; nil if unknown.
	types *openapi.Schema
	// statusApart: the kind has a status subresource, so that the server drops the status from an
	// apply of the main resource.
	statusApart bool
}

// comparable reports whether manifest and live object have the same version, and the manifest
// states no fields that never have an owner.
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

// stated calls f for each field at the top of the manifest, and of its metadata, that an owner can
// hold, until f returns false.
func (j *evaluation) stated(f func(name string, v any, inMetadata bool) bool) bool {
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

// isSecret reports whether the object is a Secret of the core group.
func (j *evaluation) isSecret() bool {
	return j.manifest["kind"] == "Secret" && j.manifest["apiVersion"] == "v1"
}

// BySchema reports whether applying the manifest is a no-op, where [Evaluate] leaves a doubt that
// the kind's schema may settle: which values are one field with everything in them, what the server
// fills in inside those, and which texts and numbers are quantities. It fetches the schema only if
// that may settle the matter; it may be nil.
//
// The schema must say what the server's own says now, with its references resolved. It may lack
// defaults of Kubernetes' own kinds: the server sets these whenever it reads an object, so that
// none is ever still to come.
func BySchema(live, manifest *unstructured.Unstructured, manager string, schema func() openapi.Type) bool {
	j := &evaluation{live: live.Object, manifest: manifest.Object, manager: manager}
	if !j.comparable() {
		return false
	}
	entries, err := managedfields.Entries(live)
	if err != nil || len(entries) == 0 {
		return false
	}
	j.setEntries(entries)
	j.types = &openapi.Schema{Fetch: schema}
	return j.settled()
}
