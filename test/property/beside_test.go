package property_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// beside is a server whose object a controller writes once, after a number of requests.
type beside struct {
	*Server
	write func(s *Server) error

	mu    sync.Mutex
	after int
	err   error
}

// asked counts a completed request.
func (b *beside) asked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.after--; b.after == 0 {
		b.err = b.write(b.Server)
	}
}

func (b *beside) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	b.Server.Live(ctx, kind, refs, visit)
	b.asked()
}

func (b *beside) Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	defer b.asked()
	return b.Server.Get(ctx, kind, ref)
}

func (b *beside) Apply(ctx context.Context, kind object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	defer b.asked()
	return b.Server.Apply(ctx, kind, u, how)
}

func (b *beside) Update(ctx context.Context, kind object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	defer b.asked()
	return b.Server.Update(ctx, kind, u, how)
}

// writer returns a write of a field that no manifest sets: a status, or an annotation.
func (h *history) writer() (string, func(s *Server) error) {
	write := func(change func(u *unstructured.Unstructured), send func(s *Server, u *unstructured.Unstructured) error) func(*Server) error {
		return func(s *Server) error {
			u, err := s.Get(context.Background(), object.Kind{}, object.RefOf(h.live))
			if err != nil {
				return err
			}
			change(u)
			return send(s, u)
		}
	}
	if h.one(2) {
		return "status", write(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "beside", "status", "s")
		}, func(s *Server, u *unstructured.Unstructured) error {
			_, err := s.UpdateStatus(u, object.Write{Manager: "beside"})
			return err
		})
	}
	return "annotation", write(func(u *unstructured.Unstructured) {
		u.SetAnnotations(map[string]string{"beside": "x"})
	}, func(s *Server, u *unstructured.Unstructured) error {
		_, err := s.Update(context.Background(), object.Kind{}, u, object.Write{Manager: "beside"})
		return err
	})
}

// verdict describes the result for the object and its conflicts.
func verdictOfDiff(c event.Compared, err error) string {
	var contested []string
	for _, change := range c.Changes {
		if change.Kind == managedfields.Contested {
			contested = append(contested, change.Path.String())
		}
	}
	return fmt.Sprint(c.Action, contested, len(c.Changes), err != nil)
}

func verdictOfApply(a event.Applied, err error) string {
	var contested []string
	for _, c := range a.Conflicts {
		contested = append(contested, c.Path.String())
	}
	return fmt.Sprint(a.Action, contested, err != nil)
}

// A write of a status or an annotation between any two requests changes the result of neither diff
// nor apply.
func TestVerdictWithConcurrentWriter(t *testing.T) {
	p := predict.Predictor{Manager: us}
	differing := 0
	cases := eachHistory(t, func(t *testing.T, h *history) {
		if len(h.live.GetManagedFields()) == 0 {
			return // the other write owns all its fields
		}
		synctest.Test(t, func(t *testing.T) {
			quietly := verdictOfDiff(compared(t, h.Copy(), h.manifest, p))
			differing += min(1, len(quietly)-len(fmt.Sprint(event.None, []string(nil), 0, false)))
			did := verdictOfApply(applied(t, h.Copy(), h.manifest, p))
			name, write := h.writer()
			for after := 1; after <= 6; after++ {
				s := &beside{Server: h.Copy(), write: write, after: after}
				var got event.Compared
				engine := diff.Engine{Server: s, Predictor: p, Emit: func(e event.Event) {
					if c, ok := e.(event.Compared); ok {
						got = c
					}
				}}
				err := engine.Run(t.Context(), planOf(t, h.Server, h.manifest))
				if s.err != nil {
					t.Fatal(s.err)
				}
				if s.after > 0 {
					break // it makes no more requests
				}
				if diff := cmp.Diff(quietly, verdictOfDiff(got, err)); diff != "" {
					t.Errorf("diff, %s after %d requests (-quietly +beside): %s", name, after, diff)
				}
				var done event.Applied
				s = &beside{Server: h.Copy(), write: write, after: after}
				applies := apply.Engine{Server: s, Predictor: p, Emit: func(e event.Event) {
					if a, ok := e.(event.Applied); ok {
						done = a
					}
				}}
				err = applies.Run(t.Context(), planOf(t, h.Server, h.manifest))
				if s.err != nil {
					t.Fatal(s.err)
				}
				if diff := cmp.Diff(did, verdictOfApply(done, err)); diff != "" {
					t.Errorf("apply, %s after %d requests (-quietly +beside): %s", name, after, diff)
				}
			}
		})
	})
	if cases >= 300 && differing < cases/5 {
		t.Errorf("%d of %d verdicts differ: too few, the test proves nothing", differing, cases)
	}
}
