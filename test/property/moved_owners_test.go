package property_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// refusing is a server that refuses the first apply, or lets a colleague write before it.
type refusing struct {
	*Server
	colleague *unstructured.Unstructured
	done      bool
}

func (r *refusing) Apply(ctx context.Context, kind object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	if how.DryRun || r.done {
		return r.Server.Apply(ctx, kind, u, how)
	}
	r.done = true
	if r.colleague == nil {
		return nil, apierrors.NewInvalid(u.GroupVersionKind().GroupKind(), u.GetName(), nil)
	}
	if _, err := r.Update(ctx, kind, r.colleague, object.Write{Manager: "colleague"}); err != nil {
		return nil, err
	}
	return r.Server.Apply(ctx, kind, u, how)
}

// An adoption changes owners before the apply. If the apply then fails or is in conflict, the report
// says that owners have changed (edge case 30).
func TestOwnersChangedBeforeAFailureAreReported(t *testing.T) {
	for name, colleague := range map[string]*unstructured.Unstructured{"refused": nil, "in conflict": thing(t, "v1", "{s: c, num: 1}")} {
		t.Run(name, func(t *testing.T) {
			s, err := newServer()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Update(t.Context(), object.Kind{}, thing(t, "v1", "{s: a, num: 1}"), object.Write{Manager: "helm"}); err != nil {
				t.Fatal(err)
			}
			manifest := thing(t, "v1", "{s: a}")
			var got event.Applied
			engine := apply.Engine{
				Server:    &refusing{Server: s, colleague: colleague},
				Predictor: predict.Predictor{Manager: us, AdoptFrom: adopt.From{Always: []string{"helm"}}},
				Emit: func(e event.Event) {
					if a, ok := e.(event.Applied); ok {
						got = a
					}
				},
			}
			_ = engine.Run(t.Context(), planOf(t, s, manifest))
			live, err := s.Get(t.Context(), object.Kind{}, object.RefOf(manifest))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(owned(live), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == us }) {
				t.Fatal("no owner has changed: the test proves nothing")
			}
			switch {
			case colleague == nil && (got.Action != event.Failed || !strings.Contains(got.Err.Error(), "only owners have changed (the fields of helm are yours now)")):
				t.Errorf("%s: %v", got.Action, got.Err)
			case colleague != nil && (got.Action != event.InConflict || !slices.Equal(got.Adopted, []string{"helm"})):
				t.Errorf("%s: %v, adopted %v", got.Action, got.Err, got.Adopted)
			}
		})
	}
}
