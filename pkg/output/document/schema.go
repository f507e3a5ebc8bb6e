package document

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// apiVersion of the documents that are printed.
const apiVersion = "cli.k8sconnect.io/v1alpha1"

// objectName is how JSON names an object.
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

// ref is nameOf backwards.
func (n objectName) ref() object.Ref {
	return object.Ref{GVK: schema.FromAPIVersionAndKind(n.APIVersion, n.Kind), Namespace: n.Namespace, Name: n.Name}
}

// objectOrNil is for events that may be about the run as a whole, which has no
// name.
func objectOrNil(ref object.Ref) any {
	if ref == (object.Ref{}) {
		return nil
	}
	return nameOf(ref)
}

type contestedPath struct {
	Path   string                `json:"path"`
	Yours  any                   `json:"yours"`
	Live   *any                  `json:"live,omitempty"` // nil: absent; pointer to nil: null
	Same   bool                  `json:"sameValue,omitempty"`
	Owners []managedfields.Owner `json:"owners"`
	// Refused: the server would not let it be taken.
	Refused bool `json:"refused,omitempty"`
	// Unstated: the path is one of another API version, and cannot be yielded by name.
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

// fault is an error: the API server's reason where it has one, the message, and
// what to do next where that is known.
type fault struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}
