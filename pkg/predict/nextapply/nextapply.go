// Package nextapply asks the server, by dry runs, what a manager's next apply of a manifest would meet.
package nextapply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// Server applies an object. Ask only sends dry runs.
type Server interface {
	Apply(ctx context.Context, kind object.Kind, declared *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
}

// Apply is an apply that a manager has not sent yet.
type Apply struct {
	Kind object.Kind
	// Live is nil if the object does not exist.
	Declared, Live *unstructured.Unstructured
	Manager        string
	// Validation is the manager's field validation, as in [object.Write].
	Validation string
}

// Forecast is what the apply would meet.
type Forecast struct {
	Conflicts []managedfields.Conflict
	// Refused is the server's refusal of the content. It remains when all conflicts are settled. A server that
	// reports a conflict does not validate the object, so an apply can meet both, one after the other.
	Refused error
	// Unknown is the error of a request that showed nothing else.
	Unknown error
	// Forced is the object after an apply that forces all conflicts; nil if there is no conflict, or if the
	// server refuses that apply.
	Forced *unstructured.Unstructured
}

// Ask forecasts an apply.
func Ask(ctx context.Context, server Server, a Apply) Forecast {
	how := object.Write{Manager: a.Manager, DryRun: true, Validation: a.Validation}
	_, err := server.Apply(ctx, a.Kind, a.Declared, how)
	var out Forecast
	if predict.IsContested(err) {
		out.Conflicts = predict.Predictor{Manager: a.Manager}.Contested(err, a.Live, a.Declared)
		managedfields.SortConflicts(out.Conflicts)
		how.Force = true
		out.Forced, err = server.Apply(ctx, a.Kind, a.Declared, how)
	}
	switch {
	case err == nil:
		return out
	case IsRefusal(err):
		out.Refused = err
	default:
		out.Unknown = err
	}
	out.Forced = nil
	return out
}

// IsRefusal reports whether the server refused the content of a request, as it would do again.
func IsRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) || predict.IsMisfit(err)
}
