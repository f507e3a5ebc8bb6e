package apply

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// wrote notes what came of a write of the target. What was refused was not written.
func (e *Engine) wrote(t *target, answer *unstructured.Unstructured, err error) {
	if err == nil {
		t.attempts.Wrote(answer)
	}
	switch {
	case e.Journal == nil:
	case err == nil:
		e.Journal.Wrote(t.Item, t.Live, answer)
	case mayBeWritten(err) && !apierrors.IsConflict(err): // What it conflicts with is looked at.
		e.Journal.Wrote(t.Item, t.Live, nil)
	}
}

// removed notes that the target was deleted, or may have been.
func (e *Engine) removed(t *target) {
	if e.Journal != nil {
		e.Journal.Removed(t.Item, t.Live)
	}
}
