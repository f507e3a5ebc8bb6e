package document

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// apiVersion of the documents that are printed.
const apiVersion = "cli.k8sconnect.io/v1alpha1"

// header begins a document without a summary.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Run        string `json:"run,omitempty"`
}

func newHeader(b output.Base, kind string) header { return header{apiVersion, kind, b.Run} }

// objectName is an object in JSON.
type objectName struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

func nameOf(ref object.Ref) objectName {
	return objectName{
		APIVersion: ref.GVK.GroupVersion().String(),
		Kind:       ref.GVK.Kind,
		Namespace:  ref.Namespace,
		Name:       ref.Name,
	}
}

// ref is the reverse of nameOf.
func (n objectName) ref() object.Ref {
	return object.Ref{GVK: schema.FromAPIVersionAndKind(n.APIVersion, n.Kind), Namespace: n.Namespace, Name: n.Name}
}

// objectOrNil is for events that may concern the whole run, which has no name.
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
	// Refused: the server would not let it be taken.
	Refused bool `json:"refused,omitempty"`
	// Unstated: the path is of another API version, and no yield can name it.
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

// fault is an error: the API server's reason if there is one, the message, and the remedy if it is
// known.
type fault struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}
