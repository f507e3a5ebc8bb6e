package property_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// losing is a server that carries out the first write, or another client's write in its place, but
// answers only the repetition of the request, with a conflict.
type losing struct {
	*Server
	took    time.Duration
	instead *unstructured.Unstructured
	marked  bool
	lost    bool
}

type lostAnswerError struct{ error }

func (e lostAnswerError) Unwrap() error { return e.error }

func (e lostAnswerError) MayBeWritten() bool { return true }

func (l *losing) Apply(ctx context.Context, kind object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	if how.DryRun || l.lost {
		return l.Server.Apply(ctx, kind, u, how)
	}
	l.lost = true
	time.Sleep(l.took)
	if l.instead != nil {
		u, how = l.instead, object.Write{Manager: "colleague"}
	}
	if _, err := l.Server.Apply(ctx, kind, u, how); err != nil {
		return nil, err
	}
	err := error(apierrors.NewConflict(kind.GVR().GroupResource(), u.GetName(), errors.New("it exists")))
	if l.marked {
		err = lostAnswerError{err}
	}
	return nil, err
}

// The answer to a create is lost, however long it took. If the object is as the manifest says, the
// run succeeds. If a colleague created it otherwise, the conflict names the colleague (edge
// case 85).
func TestAnswerToCreateIsLost(t *testing.T) {
	for name, took := range map[string]time.Duration{"soon": 0, "after five minutes": 5 * time.Minute} {
		for _, marked := range []bool{true, false} {
			for _, spec := range []string{"{s: a}", "{sub: {a: x}, ports: [{port: 1}], typed: {limits: {a: 1000m}}}"} {
				t.Run(name+" "+spec, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s, err := newServer()
						if err != nil {
							t.Fatal(err)
						}
						got, err := created(t, &losing{Server: s, took: took, marked: marked}, thing(t, "v1", spec))
						if err != nil || got.Action == event.Failed || got.Action == event.InConflict || marked && got.Action != event.Created {
							t.Errorf("%s: %v %v", got.Action, err, got.Err)
						}
					})
				})
			}
			t.Run(name+", a colleague was faster", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := newServer()
					if err != nil {
						t.Fatal(err)
					}
					l := &losing{Server: s, took: took, marked: marked, instead: thing(t, "v1", "{s: b}")}
					got, _ := created(t, l, thing(t, "v1", "{s: a}"))
					if got.Action != event.InConflict || len(got.Conflicts) != 1 || !strings.HasPrefix(got.Conflicts[0].Owners[0].String(), "colleague") {
						t.Errorf("%s: %v %+v", got.Action, got.Err, got.Conflicts)
					}
				})
			})
		}
	}
}

func created(t *testing.T, s *losing, manifest *unstructured.Unstructured) (event.Applied, error) {
	t.Helper()
	var got event.Applied
	engine := apply.Engine{Server: s, Predictor: predict.Predictor{Manager: us}, Emit: func(e event.Event) {
		if a, ok := e.(event.Applied); ok {
			got = a
		}
	}}
	return got, engine.Run(t.Context(), planOf(t, s.Server, manifest))
}
