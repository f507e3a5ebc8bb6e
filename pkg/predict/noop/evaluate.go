package noop

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Evaluate predicts, from the live object alone, what an apply of a manifest by a manager
// does. Both objects have to be of one apiVersion.
//
// [Unchanged] promises that the apply is a no-op: the manager's Apply entry holds exactly the
// paths that the manifest states, and every value is the live one. [Clear] promises that an
// apply without force meets no conflict, as long as the live object stays as it is: no one
// else holds a path that the manifest would set to another value. [Contested] promises that
// the server refuses it for a conflict. Everything else is [Doubtful]; only a dry run knows.
// Both come with the conflicts that are likely, as far as the sets show them.
//
// The promises rest on the object's managed fields and on the rules of
// structured-merge-diff's Updater. They do not see a schema that turned from
// atomic to granular or back since the last write.
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

// unowned evaluates an object without managed fields (edge case 17). Either the manifest
// states nothing, like a ServiceAccount, a Namespace or a Secret with nothing but a name:
// then nothing changes, whatever the server put into the object. Or the entries were
// cleared: then the server would first assign everything in the object to the manager
// "before-first-apply". (It would do that once for a manifest that states nothing, too;
// such an entry owns nothing of value.)
func (j *evaluation) unowned() Verdict {
	if statesNothing(j.manifest) {
		return Unchanged
	}
	return Doubtful
}

// statesNothing reports whether an object has no field that could be owned.
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

// Verdict is what the live object alone shows about applying a manifest, without asking
// the server.
type Verdict int

const (
	// Doubtful means that something may be contested, or the sets do not decide. Ask the
	// server.
	Doubtful Verdict = iota
	// Clear means that the manifest changes something, and no one else owns any of it with
	// another value.
	Clear
	// Unchanged means that applying the manifest is a no-op.
	Unchanged
	// Contested means that an apply without force meets a conflict. Only the server knows
	// whether there are more.
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
