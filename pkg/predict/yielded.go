package predict

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// YieldError says that an apply would change a field that is yielded. Nothing was
// written.
type YieldError struct {
	Ref  object.Ref
	Path fieldpath.Path
}

func (e *YieldError) Error() string {
	return fmt.Sprintf("%s is yielded, but the apply would change it: nothing was written", e.Path)
}

// Hint says what can be done.
func (e *YieldError) Hint() string {
	return fmt.Sprintf("take it with --take=%s:%s, or state its live value in the manifest", e.Ref.Resource(), e.Path)
}

// asked returns a manifest as a dry run is asked about it. A dry run cannot release anything, so
// what is to be released is stated as it is.
func (in *Prediction) asked(body *unstructured.Unstructured) *unstructured.Unstructured {
	released := in.Adoption.Released()
	if released.Empty() {
		return body
	}
	return adopt.Overlaid(body, in.Live, released)
}

// Stays reports whether a change is that of a path which the manager let go of, and which stays
// as it is: others own it, or it is yielded. Without either, it has the server's default, which
// is no news.
func (in *Prediction) Stays(c managedfields.Change) bool {
	return c.Kind == managedfields.Released && (len(c.Owners) > 0 || fieldpath.Holds(in.Adoption.Released(), c.Path))
}

// keepsYielded returns a *YieldError if the server's answer does not have the live value
// of everything that is yielded (edge case 83). With open conflicts nothing is written
// anyway.
func (in *Prediction) keepsYielded() error {
	if in.Answer == nil || len(in.Conflicts) > 0 {
		return nil
	}
	yielded := slices.Clone(in.Yielded)
	fieldpath.Each(in.Adoption.Released(), func(p fieldpath.Path) { yielded = append(yielded, p.Clone()) })
	for _, path := range yielded {
		if _, live := path.Get(in.Live.Object); live && !path.Same(in.Live.Object, in.Answer.Object) {
			return &YieldError{Ref: in.Item.Ref, Path: path}
		}
	}
	return nil
}
