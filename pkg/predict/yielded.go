package predict

import (
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
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

// keepsYielded returns a *YieldError if the server's answer does not have the live value
// of everything that is yielded (edge case 83). With open conflicts nothing is written
// anyway.
func (in *Prediction) keepsYielded() error {
	if in.Answer == nil || len(in.Conflicts) > 0 {
		return nil
	}
	for _, path := range in.Yielded {
		if _, live := path.Get(in.Live.Object); live && !path.Same(in.Live.Object, in.Answer.Object) {
			return &YieldError{Ref: in.Item.Ref, Path: path}
		}
	}
	return nil
}
