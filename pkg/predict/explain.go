package predict

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// RefusedError is the server's refusal of an object, with what can be done.
type RefusedError struct {
	Err error
	// Advice says what can be done about it.
	Advice string
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the server's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// Hint returns the advice.
func (e *RefusedError) Hint() string { return e.Advice }

// Explain adds to a refusal what the server does not say, where we can find it
// out. The causes decide, never the text.
func (p Predictor) Explain(ctx context.Context, server Server, in *Prediction, err error) error {
	if misfit := p.misfit(ctx, server, in, err); misfit != nil {
		err = misfit
	}
	if p.lenient() && unexplained(err) {
		return &RefusedError{Err: err, Advice: "--validate does not reach everything: a field that the schema does not declare " +
			"is refused by server-side apply itself"}
	}
	if in.Live == nil || !apierrors.IsInvalid(err) {
		return err
	}
	causes := Causes(err)
	if advice := p.leftBehind(in, causes); advice != "" {
		return &RefusedError{Err: err, Advice: advice}
	}
	if advice := p.immutable(ctx, server, in, causes); advice != "" {
		return &RefusedError{Err: err, Advice: advice}
	}
	return err
}

// lenient tells whether the user wants fields to pass that are not known.
func (p Predictor) lenient() bool { return p.Validation == "Warn" || p.Validation == "Ignore" }

// unexplained tells whether the server answered with an internal error and no
// reason, as it does where it can not read a manifest by the kind's schema.
func unexplained(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		status.Status().Reason == metav1.StatusReasonUnknown
}

// ExplainConflict explains why nothing would be gained by taking all that is
// contested; nil where the server would accept that.
func (p Predictor) ExplainConflict(ctx context.Context, server Server, in *Prediction, conflict *managedfields.ConflictError) error {
	if conflict.Refusal == nil {
		return nil
	}
	return fmt.Errorf("if all of it were taken, the server would refuse it: %w", p.Explain(ctx, server, in, conflict.Refusal))
}

// leftBehind explains a list that is not valid because of an item that the
// manifest does not state: it stays, or what others own of it stays, as long as
// they own it (k/k#131147, structured-merge-diff#335; edge cases 25 and 26).
func (p Predictor) leftBehind(in *Prediction, causes []metav1.StatusCause) string {
	list, names := p.leftBehindBy(in, causes)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("an item of .%s that the manifest does not state is also owned by %s, and what they own of it stays; "+
		"--adopt-from=%s makes it yours, or remove the item by hand",
		list, strings.Join(names, ", "), strings.Join(names, ","))
}

// leftBehindBy returns the list of which an item is left behind, and who owns it.
func (p Predictor) leftBehindBy(in *Prediction, causes []metav1.StatusCause) (string, []string) {
	entries, err := managedfields.Entries(in.Live)
	if err != nil {
		return "", nil
	}
	for _, cause := range causes {
		list, _, indexed := strings.Cut(cause.Field, "[")
		if !indexed || cause.Type != metav1.CauseTypeFieldValueDuplicate && cause.Type != metav1.CauseTypeFieldValueRequired {
			continue
		}
		path, err := managedfields.ParsePath(list)
		if err != nil {
			continue
		}
		var names []string
		for _, owner := range managedfields.OwnersOfUnstated(managedfields.Others(entries, p.Manager), path, in.Body) {
			names = append(names, owner.Manager)
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) > 0 {
			return list, names
		}
	}
	return "", nil
}

// immutable tells a change that can not be made to an existing object from an
// object that is wrong in itself: the latter the server refuses under a new name
// too (edge case 29). It only ever advises; nothing is deleted.
func (p Predictor) immutable(ctx context.Context, server Server, in *Prediction, causes []metav1.StatusCause) string {
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
	if !p.ValidAlone(ctx, server, in) {
		return ""
	}
	slices.Sort(fields)
	what := strings.Join(slices.Compact(fields), ", ")
	switch in.Item.GVK.Kind {
	case "PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition":
		return what + " can not be changed on an existing " + in.Item.GVK.Kind +
			"; put the live value back into the manifest (deleting it would delete what it holds)"
	default:
		return what + " can not be changed on an existing " + in.Item.GVK.Kind +
			"; put the live value back into the manifest, or delete " + in.Item.Resource() + " yourself and apply again"
	}
}
