package document

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

const apiVersion = "cli.k8sconnect.io/v1alpha1"

// header begins a document without a summary.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Run        string `json:"run,omitempty"`
}

func newHeader(b output.Base, kind string) header { return header{apiVersion, kind, b.Run} }

// objectName names an object. It is embedded in entries about objects; elsewhere [object.Ref]
// writes the same fields.
type objectName struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

func nameOf(ref object.Ref) objectName {
	return objectName{ref.GVK.GroupVersion().String(), ref.GVK.Kind, ref.Namespace, ref.Name}
}

// ref is the inverse of nameOf.
func (n objectName) ref() object.Ref {
	return object.Ref{GVK: schema.FromAPIVersionAndKind(n.APIVersion, n.Kind), Namespace: n.Namespace, Name: n.Name}
}

// objectOrNil returns nil for events that concern the whole run.
func objectOrNil(ref object.Ref) any {
	if ref == (object.Ref{}) {
		return nil
	}
	return ref
}

type contestedPath struct {
	Path   string                `json:"path"`
	Yours  any                   `json:"yours"`
	Live   *any                  `json:"live,omitempty"` // nil: absent; pointer to nil: null
	Same   bool                  `json:"sameValue,omitempty"`
	Owners []managedfields.Owner `json:"owners"`
	// Refused is set if the server would reject taking the path.
	Refused bool `json:"refused,omitempty"`
	// Unstated is set if the path belongs to another API version, so that it cannot be yielded.
	Unstated bool `json:"unstated,omitempty"`
}

type changedPath struct {
	Path   string                   `json:"path"`
	From   *any                     `json:"from,omitempty"`
	To     *any                     `json:"to,omitempty"`
	Change managedfields.ChangeKind `json:"change,omitempty"`
	Atomic bool                     `json:"atomic,omitempty"`
	Same   bool                     `json:"sameValue,omitempty"`
	Owners []managedfields.Owner    `json:"owners,omitempty"`
}

// fault is an error: the API server's reason if there is one, the message, and the remedy if known.
type fault struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}
