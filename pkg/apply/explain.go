package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// RefusedError is the server's refusal of an object, with what can be done.
type RefusedError struct {
	Err  error
	hint string
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the server's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// Hint says what can be done about it.
func (e *RefusedError) Hint() string { return e.hint }

// errTerminating: nothing can be created in a namespace that goes (edge case 19).
var errTerminating error = &RefusedError{
	Err:  errors.New("the namespace is being deleted"),
	hint: "wait until it is gone, then apply again",
}

// explain adds to a refusal what the server does not say, where we can find it
// out. The causes decide, never the text.
func (e *Engine) explain(ctx context.Context, t *target, err error) error {
	if t.Live == nil || !apierrors.IsInvalid(err) {
		return err
	}
	causes := predict.Causes(err)
	if hint := e.leftBehind(t, causes); hint != "" {
		return &RefusedError{Err: err, hint: hint}
	}
	if hint := e.immutable(ctx, t, causes); hint != "" {
		return &RefusedError{Err: err, hint: hint}
	}
	return err
}

// leftBehind explains a duplicate in a list whose items others own too: an item
// that is stated under a new key stays under the old one as long as they own it
// (k/k#131147, structured-merge-diff#335; edge cases 25 and 26).
func (e *Engine) leftBehind(t *target, causes []metav1.StatusCause) string {
	entries, err := managedfields.Entries(t.Live)
	if err != nil {
		return ""
	}
	for _, cause := range causes {
		list, _, indexed := strings.Cut(cause.Field, "[")
		if !indexed || cause.Type != metav1.CauseTypeFieldValueDuplicate {
			continue
		}
		path, err := managedfields.ParsePath(list)
		if err != nil {
			continue
		}
		var names []string
		for _, owner := range managedfields.Owners(entries, path) {
			if !owner.Is(e.Predictor.Manager) {
				names = append(names, owner.Manager)
			}
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) > 0 {
			return fmt.Sprintf("items of .%s are also owned by %s and stay until they let go of them; "+
				"--adopt-from=%s makes them yours, or remove the old item by hand",
				list, strings.Join(names, ", "), strings.Join(names, ","))
		}
	}
	return ""
}

// immutable tells a change that can not be made to an existing object from an
// object that is wrong in itself: the latter the server refuses under a new name
// too (edge case 29). It only ever advises; nothing is deleted.
func (e *Engine) immutable(ctx context.Context, t *target, causes []metav1.StatusCause) string {
	fields := make([]string, 0, len(causes))
	for _, cause := range causes {
		switch cause.Type {
		case metav1.CauseTypeFieldValueInvalid, metav1.CauseTypeForbidden, metav1.CauseTypeFieldValueDuplicate:
			fields = append(fields, "."+cause.Field)
		default:
		}
	}
	if len(fields) == 0 {
		return ""
	}
	if !e.Predictor.ValidAlone(ctx, e.Server, &t.Prediction) {
		return ""
	}
	slices.Sort(fields)
	what := strings.Join(slices.Compact(fields), ", ")
	switch t.Item.GVK.Kind {
	case "PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition":
		return what + " can not be changed on an existing " + t.Item.GVK.Kind +
			"; put the live value back into the manifest (deleting it would delete what it holds)"
	default:
		return what + " can not be changed on an existing " + t.Item.GVK.Kind +
			"; put the live value back into the manifest, or delete " + t.Item.Resource() + " yourself and apply again"
	}
}
