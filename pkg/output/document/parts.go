package document

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// objectName contains the fields that name an object. Entries about objects embed it; in other
// places, [object.Ref] writes the same fields.
type objectName struct {
	// The object's group and version, such as apps/v1.
	APIVersion string `json:"apiVersion"`
	// The object's kind.
	Kind string `json:"kind"`
	// The object's namespace. Absent for a cluster-scoped object.
	Namespace string `json:"namespace,omitempty"`
	// The object's name. Empty if the entry is about the kind as a whole.
	Name string `json:"name"`
}

func nameOf(ref object.Ref) objectName {
	return objectName{ref.GVK.GroupVersion().String(), ref.GVK.Kind, ref.Namespace, ref.Name}
}

func (n objectName) ref() object.Ref {
	return object.Ref{GVK: schema.FromAPIVersionAndKind(n.APIVersion, n.Kind), Namespace: n.Namespace, Name: n.Name}
}

func objectOrNil(ref object.Ref) any {
	if ref == (object.Ref{}) {
		return nil
	}
	return ref
}

type contestedPath struct {
	// The path of the field, such as .spec.replicas.
	Path string `json:"path"`
	// The value in the manifest.
	Yours any `json:"yours"`
	// The value on the server. Absent if there is none; null is a value.
	Live *any `json:"live,omitempty"`
	// Both are spellings of one value.
	Same bool `json:"sameValue,omitempty"`
	// The owners of the live value.
	Owners []managedfields.Owner `json:"owners"`
	// Refused means that the server would refuse to let us take the path.
	Refused bool `json:"refused,omitempty"`
	// Undeclared means that the path belongs to another API version, so it cannot be yielded.
	Undeclared bool `json:"unstated,omitempty"`
}

type changedPath struct {
	// The path of the field, such as .spec.replicas.
	Path string `json:"path"`
	// The value before; absent if there was none.
	From *any `json:"from,omitempty"`
	// The value after; absent if there is none.
	To *any `json:"to,omitempty"`
	// How the value changes: added, removed, changed, taken (from its owners), contested (others own
	// it, and the apply would conflict), released (you no longer own it, but it stays), or surplus
	// (others have added it, and the manifest lacks it).
	Change managedfields.ChangeKind `json:"change,omitempty"`
	// The value is owned as a whole, such as the list .rules of a ClusterRole.
	Atomic bool `json:"atomic,omitempty"`
	// Both are spellings of one value.
	Same bool `json:"sameValue,omitempty"`
	// The other owners of the field before the change.
	Owners []managedfields.Owner `json:"owners,omitempty"`
}

// fault is an error: its message, the API server's reason if there is one, and the remedy if it is
// known.
type fault struct {
	// The API server's reason, such as Forbidden, if there is one.
	Reason string `json:"reason,omitempty"`
	// The error, for people. It may change in any release.
	Message string `json:"message"`
	// The remedy, if it is known. Commands in it can be pasted.
	Hint string `json:"hint,omitempty"`
}

func textsOf(paths []fieldpath.Path) []string {
	var texts []string
	for _, path := range paths {
		texts = append(texts, path.String())
	}
	return texts
}

func contestedOf(conflicts []managedfields.Conflict) []contestedPath {
	var list []contestedPath
	for _, c := range conflicts {
		entry := contestedPath{Path: c.Path.String(), Yours: c.Yours, Same: c.SameValue, Owners: orEmpty(c.Owners)}
		if c.HasLive {
			entry.Live = &c.Live
		}
		list = append(list, entry)
	}
	return list
}

// changesOf converts changes. It omits From for an added path and To for a removed path, because
// null would count as a value.
func changesOf(changes []managedfields.Change) []changedPath {
	var list []changedPath
	for _, c := range changes {
		entry := changedPath{Path: c.Path.String(), Change: c.Kind, Atomic: c.Atomic, Same: c.SameValue, Owners: c.Owners}
		if c.Kind != managedfields.Added {
			entry.From = &c.From
		}
		if c.Kind != managedfields.Removed && c.Kind != managedfields.Surplus {
			entry.To = &c.To
		}
		list = append(list, entry)
	}
	return list
}

// orEmpty returns a copy that marshals as [] instead of null.
func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	return &fault{Reason: format.Reason(err), Message: err.Error(), Hint: strings.Join(format.Hints(err), "\n")}
}

func faultsOf(errs []error) []*fault {
	var list []*fault
	for _, err := range errs {
		list = append(list, faultOf(err))
	}
	return list
}

func sourceOf(s object.Source) string {
	if s.File == "" {
		return ""
	}
	return s.String()
}

func causeTexts(causes []event.Cause) []string {
	var text []string
	for _, c := range causes {
		text = append(text, c.Code+": "+c.Message)
		text = append(text, c.Evidence...)
		for _, line := range c.Log {
			text = append(text, "log: "+line)
		}
		if c.Next != "" {
			text = append(text, "next: "+c.Next)
		}
	}
	return text
}
