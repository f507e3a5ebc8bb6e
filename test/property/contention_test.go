package property_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// latency is the duration of a request, in a bubble's time.
const latency = 5 * time.Millisecond

// distant is a server with latency, so that others can write during a request.
type distant struct{ *Server }

func (d distant) Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	time.Sleep(latency)
	return d.Server.Get(ctx, kind, ref)
}

func (d distant) Apply(ctx context.Context, kind object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	time.Sleep(latency)
	return d.Server.Apply(ctx, kind, u, how)
}

func (d distant) Update(ctx context.Context, kind object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	time.Sleep(latency)
	return d.Server.Update(ctx, kind, u, how)
}

func (d distant) SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error) {
	time.Sleep(latency)
	return d.Server.SetManagedFields(ctx, kind, live, fields)
}

func (d distant) PutManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, _ object.Write) (*unstructured.Unstructured, error) {
	return d.SetManagedFields(ctx, kind, live, fields)
}

// controller writes the status repeatedly, at an interval and for a duration, as while Pods start.
func controller(t *testing.T, s *Server, every, long time.Duration) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	var writes atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			u := contended(t, s)
			_ = unstructured.SetNestedField(u.Object, fmt.Sprint(writes.Add(1)), "status", "s")
			u.SetResourceVersion("")
			if _, err := s.UpdateStatus(u, object.Write{Manager: "controller"}); err != nil {
				t.Errorf("the controller: %v", err)
			}
			time.Sleep(every)
		}
	}()
	return func() {
		cancel()
		<-done
		if writes.Load() == 0 {
			t.Error("the controller wrote nothing")
		}
	}
}

// thing is the object that all of them write.
func thing(t *testing.T, version, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{apiVersion: example.com/"+version+", kind: Thing, metadata: {name: x, namespace: shop}, spec: "+spec+"}"), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func contended(t *testing.T, s *Server) *unstructured.Unstructured {
	t.Helper()
	live, err := s.Get(context.WithoutCancel(t.Context()), object.Kind{}, object.RefOf(thing(t, "v1", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// guarded contains the verbs whose writes are conditional on the version that was read. prepare
// returns the action that runs while the controller writes; the action returns the object's error.
func guarded() map[string]func(t *testing.T, s *Server) func(context.Context) error {
	type does = func(context.Context) error
	const ours = "{s: ours, num: 1}"
	applies := func(p predict.Predictor) func(*testing.T, *Server) does {
		return func(t *testing.T, s *Server) does {
			p.Manager = us
			return func(ctx context.Context) error { return applying(ctx, t, s, p, nil) }
		}
	}
	return map[string]func(*testing.T, *Server) does{
		"apply that takes":            applies(predict.Predictor{Take: []predict.Choice{{}}}),
		"apply that takes and yields": applies(predict.Predictor{Take: []predict.Choice{{Path: fieldpath.Pattern(fieldpath.Field("spec", "s"))}}, Yield: []predict.Choice{{Path: fieldpath.Pattern(fieldpath.Field("spec", "num"))}}}),
		"apply that adopts":           applies(predict.Predictor{AdoptFrom: adopt.From{Always: []string{"edit"}}, Take: []predict.Choice{{}}}),
		"diff": func(t *testing.T, s *Server) does {
			return func(ctx context.Context) error {
				var reported event.Compared
				engine := diff.Engine{Server: distant{s}, Predictor: predict.Predictor{Manager: us, Take: []predict.Choice{{}}}, Emit: func(e event.Event) {
					if c, is := e.(event.Compared); is {
						reported = c
					}
				}}
				if err := engine.Run(ctx, planOf(t, s, thing(t, "v1", ours))); !errors.Is(err, diff.ErrDiffers) {
					return errors.Join(reported.Err, err)
				}
				return reported.Err
			}
		},
		"restore": func(t *testing.T, s *Server) does {
			journal := &restore.Journal{}
			if err := applying(t.Context(), t, s, predict.Predictor{Manager: us, Take: []predict.Choice{{}}}, journal); err != nil {
				t.Fatal(err)
			}
			notes, err := journal.Notes(planOf(t, s, thing(t, "v1", ours)), nil)
			if err != nil || len(notes) == 0 {
				t.Fatalf("%d notes: %v", len(notes), err)
			}
			return func(ctx context.Context) error {
				var reported event.RolledBack
				engine := restore.Engine{
					Server: distant{s}, Manager: us,
					Remove: func(context.Context, object.Kind, object.Ref, types.UID, func(*unstructured.Unstructured) string) error {
						return errors.New("it was there before")
					},
					Emit: func(e event.Event) {
						if r, is := e.(event.RolledBack); is {
							reported = r
						}
					},
				}
				err := engine.Run(ctx, notes)
				return errors.Join(reported.Err, err)
			}
		},
		"give": func(t *testing.T, s *Server) does {
			return func(ctx context.Context) error {
				var reported event.Given
				engine := give.Engine{
					Server: distant{s}, Wish: transfer.Wish{From: []string{"edit"}, To: "flux", As: managedfields.Apply}, DryRun: object.DryRunNone,
					Emit: func(e event.Event) {
						if g, is := e.(event.Given); is {
							reported = g
						}
					},
				}
				live := contended(t, s)
				err := engine.Run(ctx, []give.Target{{Kind: kindOf(t, s, live), Ref: object.RefOf(live)}})
				return errors.Join(reported.Err, err)
			}
		},
		"owners --migrate-versions": func(t *testing.T, s *Server) does {
			if _, err := s.Apply(t.Context(), object.Kind{}, thing(t, "v2", "{}"), object.Write{Manager: "helm"}); err != nil {
				t.Fatal(err)
			}
			return func(ctx context.Context) error {
				m := owners.Migrator{
					Server: distant{s},
					Served: func(gvk schema.GroupVersionKind) bool { return gvk.Version == "v1" },
					Has:    func(object.Kind, fieldpath.Path) owners.Knowledge { return owners.PathKnown },
				}
				live := contended(t, s)
				reported, any := m.Migrate(ctx, kindOf(t, s, live), object.RefOf(live))
				if !any {
					t.Error("there was nothing to migrate")
				}
				return reported.Err
			}
		},
	}
}

func kindOf(t *testing.T, s *Server, u *unstructured.Unstructured) object.Kind {
	t.Helper()
	kind, err := s.Kind(t.Context(), u.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

// applying applies our manifest, and returns the object's error.
func applying(ctx context.Context, t *testing.T, s *Server, p predict.Predictor, journal *restore.Journal) error {
	t.Helper()
	var reported event.Applied
	engine := apply.Engine{Server: distant{s}, Predictor: p, Emit: func(e event.Event) {
		if a, is := e.(event.Applied); is {
			reported = a
		}
	}}
	if journal != nil {
		engine.Journal = journal
	}
	err := engine.Run(ctx, planOf(t, s, thing(t, "v1", "{s: ours, num: 1}")))
	return errors.Join(reported.Err, err)
}

// settled returns a server with an object whose conflicting fields edit owns.
func settled(t *testing.T) *Server {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), object.Kind{}, thing(t, "v1", "{s: theirs, num: 2, set: [a]}"), object.Write{Manager: "edit"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// A controller that writes the status every few milliseconds for two seconds, as while Pods start,
// fails no verb, although each conditional write meets a newer version meanwhile.
func TestBurstOfStatusWrites(t *testing.T) {
	paces := []time.Duration{latency, 3 * latency, latency / 5}
	paces = paces[:circle.Of(1, 3, 3)]
	for name, prepare := range guarded() {
		for _, every := range paces {
			t.Run(fmt.Sprintf("%s, every %s", name, every), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := settled(t)
					do := prepare(t, s)
					stop := controller(t, s, every, 2*time.Second)
					defer stop()
					if err := do(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// Against a writer that never pauses, the verb gives up, reports that, and writes nothing.
func TestEndlessStatusWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of writes")
	}
	const patient = 3 * time.Minute
	for name, prepare := range guarded() {
		t.Run(name, func(t *testing.T) {
			if name != "apply that takes" {
				circle.Full(t)
			}
			synctest.Test(t, func(t *testing.T) {
				s := settled(t)
				do := prepare(t, s)
				before := contended(t, s).GetManagedFields()
				stop := controller(t, s, latency*4/5, 2*patient)
				began := time.Now()
				err := do(t.Context())
				stop()
				_, is := errors.AsType[*retry.LostError](err)
				if took := time.Since(began); !is || took > patient {
					t.Fatalf("after %s: %v, want a LostError in time", took, err)
				}
				for _, was := range before {
					if !slices.ContainsFunc(contended(t, s).GetManagedFields(), func(is metav1.ManagedFieldsEntry) bool {
						return is.Manager == was.Manager && is.Operation == was.Operation && is.FieldsV1.String() == was.FieldsV1.String()
					}) {
						t.Errorf("the fields of %s have changed", was.Manager)
					}
				}
			})
		})
	}
}
