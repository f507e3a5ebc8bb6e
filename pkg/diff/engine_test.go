package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// fake is a server whose answers each test sets. It does not merge: test/e2e tests diffs with
// server-side apply.
type fake struct {
	mu     sync.Mutex
	calls  []string
	live   map[string]*unstructured.Unstructured
	broken map[string]error // errors of reads
	apply  func(*unstructured.Unstructured) (*unstructured.Unstructured, error)
	denied string // verb
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fake) Kind(_ context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	return object.Kind{}, fmt.Errorf("no kind %s", gvk.Kind)
}

func (f *fake) Unserved(_ context.Context, gvk schema.GroupVersionKind) error {
	return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}

func (f *fake) Live(_ context.Context, _ object.Kind, refs []object.Ref, visit func(int, *unstructured.Unstructured, error)) {
	for i, ref := range refs {
		visit(i, f.live[ref.Name], f.broken[ref.Name])
	}
}

func (f *fake) Get(_ context.Context, _ object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	f.note("get %s", ref.Name)
	return f.live[ref.Name], nil
}

func (f *fake) Apply(_ context.Context, _ object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	if !how.DryRun {
		f.note("write %s", u.GetName())
	}
	f.note("try %s", u.GetName())
	if f.apply != nil {
		return f.apply(u)
	}
	return u, nil
}

func (f *fake) Update(_ context.Context, _ object.Kind, u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
	f.note("update %s", u.GetName())
	return u, nil
}

func (f *fake) Permitted(_ context.Context, _ object.Kind, _ object.Ref, verb string) (bool, error) {
	return verb != f.denied, nil
}

// item returns a ConfigMap of a plan.
func item(name string, needs ...object.Key) plan.Item {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "n", "name": name},
		"data":     map[string]any{"a": "1"},
	}}
	return plan.Item{
		Ref: object.RefOf(u), Object: u, Needs: needs,
		Kind: object.Kind{GVK: u.GroupVersionKind(), Resource: "configmaps", Namespaced: true},
	}
}

// run compares the objects of the phases and returns the result of each object by name.
func run(ctx context.Context, t *testing.T, server *fake, phases ...[]plan.Item) ([]string, error) {
	t.Helper()
	p := &plan.Plan{}
	for i, items := range phases {
		p.Phases = append(p.Phases, plan.Phase{Name: fmt.Sprint(i), Items: items})
	}
	var results []string
	engine := Engine{Server: server, Predictor: predict.Predictor{Manager: "k8sconnect"}, Emit: func(e event.Event) {
		if c, ok := e.(event.Compared); ok {
			results = append(results, c.Ref.Name+" "+string(c.Action))
		}
	}}
	err := engine.Run(ctx, p)
	slices.Sort(results)
	slices.Sort(server.calls)
	return results, err
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("no"))
}

func TestRun(t *testing.T) {
	away := errors.New("away")
	crd := item("definition")
	crd.GVK.Kind = "CustomResourceDefinition"
	unserved := func(name string, needs ...object.Key) plan.Item {
		i := item(name, needs...)
		i.Kind.Resource = ""
		return i
	}
	settled := item("same").Object.DeepCopy()
	settled.SetResourceVersion("7")
	if err := unstructured.SetNestedSlice(settled.Object, []any{map[string]any{
		"manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:data": map[string]any{"f:a": map[string]any{}}},
	}}, "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	same := map[string]*unstructured.Unstructured{"same": settled}

	tests := map[string]struct {
		server  *fake
		phases  [][]plan.Item
		want    []string
		calls   []string
		differs bool
		unknown int
	}{
		"nothing to do": {
			server: &fake{live: same},
			phases: [][]plan.Item{{item("same")}},
			want:   []string{"same none"},
		},
		"a new object": {
			server:  &fake{live: same},
			phases:  [][]plan.Item{{item("same"), item("new")}},
			want:    []string{"new create", "same none"},
			calls:   []string{"try new"},
			differs: true,
		},
		"no dry run in a namespace or kind that only this set creates (edge case 38)": {
			server:  &fake{},
			phases:  [][]plan.Item{{item("first"), crd}, {item("inside", item("first").Key()), unserved("custom", crd.Key())}},
			want:    []string{"custom create", "definition create", "first create", "inside create"},
			calls:   []string{"try definition", "try first"},
			differs: true,
		},
		"a kind that the server does not serve": {
			server:  &fake{live: same},
			phases:  [][]plan.Item{{unserved("custom"), item("same")}},
			want:    []string{"custom unknown", "same none"},
			unknown: 1,
		},
		"an unknown object outranks a difference": {
			server:  &fake{broken: map[string]error{"b": away}},
			phases:  [][]plan.Item{{item("a"), item("b")}},
			want:    []string{"a create", "b unknown"},
			calls:   []string{"try a"},
			unknown: 1,
		},
		"one refusal does not hide the others": {
			server: &fake{apply: func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				if u.GetName() == "b" {
					return nil, apierrors.NewBadRequest("no")
				}
				return u, nil
			}},
			phases:  [][]plan.Item{{item("a"), item("b")}, {item("c")}},
			want:    []string{"a create", "b unknown", "c create"},
			calls:   []string{"try a", "try b", "try c"},
			unknown: 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := run(t.Context(), t, tt.server, tt.phases...)
			var unknown *UnknownError
			switch {
			case errors.As(err, &unknown) != (tt.unknown > 0), unknown != nil && unknown.Objects != tt.unknown:
				t.Errorf("Run() = %v, want %d unknown", err, tt.unknown)
			case errors.Is(err, ErrDiffers) != tt.differs:
				t.Errorf("Run() = %v, want a difference: %v", err, tt.differs)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.calls, tt.server.calls); diff != "" {
				t.Errorf("requests: %s", diff)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	server := &fake{apply: func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		cancel(enough)
		return u, nil
	}}
	if _, err := run(ctx, t, server, []plan.Item{item("a")}); !errors.Is(err, enough) {
		t.Errorf("Run() = %v, want %v", err, enough)
	}
}

// The error of a missing permission names the permission. A quota refuses with the same status
// code, and its error is unchanged.
func TestForbidden(t *testing.T) {
	refuse := func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, forbidden() }
	for name, tt := range map[string]struct {
		server *fake
		verb   string
	}{
		"no permission to read":  {&fake{broken: map[string]error{"a": forbidden()}}, "get"},
		"no permission to write": {&fake{apply: refuse, denied: "patch"}, "patch"},
		"denied by admission":    {&fake{apply: refuse}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got *predict.DeniedError
			engine := Engine{Server: tt.server, Predictor: predict.Predictor{Manager: "k8sconnect"}, Emit: func(e event.Event) {
				if c, ok := e.(event.Compared); ok {
					errors.As(c.Err, &got)
				}
			}}
			err := engine.Run(t.Context(), &plan.Plan{Phases: []plan.Phase{{Items: []plan.Item{item("a")}}}})
			if !errors.As(err, new(*UnknownError)) {
				t.Errorf("Run() = %v, want an UnknownError", err)
			}
			if (got != nil) != (tt.verb != "") || got != nil && got.Verb != tt.verb {
				t.Errorf("got %+v, want a denied %q", got, tt.verb)
			}
		})
	}
}
