package apply

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// reader records the objects that are read.
type reader struct {
	*fake
	mu   sync.Mutex
	read []string
}

func (r *reader) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(int, *unstructured.Unstructured, error)) {
	r.mu.Lock()
	for _, ref := range refs {
		r.read = append(r.read, ref.Name)
	}
	r.mu.Unlock()
	r.fake.Live(ctx, kind, refs, visit)
}

// widget returns an object of a kind that is not served yet.
func widget(t *testing.T, name string, needs ...object.Key) plan.Item {
	t.Helper()
	u := parse(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: "+name+"}}")
	return plan.Item{Ref: object.RefOf(u), Object: u, Needs: needs, Bringers: needs}
}

// If this run created a CRD, no object of its kind can exist, and reading it would waste a round
// trip. Objects of other kinds, and objects whose CRD existed before, are read.
func TestObjectsOfCreatedKindAreNotRead(t *testing.T) {
	for name, tt := range map[string]struct {
		definition string
		there      bool
		want       []string
	}{
		"created":                        {"widgets.example.com", false, nil},
		"definition that existed before": {"widgets.example.com", true, []string{"w"}},
		"definition of another kind":     {"gadgets.example.com", false, []string{"w"}},
		"definition of another group":    {"widgets.example.org", false, []string{"w"}},
		"definition of a longer group":   {"widgets.more.example.com", false, []string{"w"}},
	} {
		t.Run(name, func(t *testing.T) {
			definition := item(t, "x")
			definition.Object.SetName(tt.definition)
			definition.Name, definition.GVK.Kind = tt.definition, "CustomResourceDefinition"
			server := &reader{fake: &fake{live: map[string]*unstructured.Unstructured{}}}
			if tt.there {
				server.live[tt.definition] = held(t, tt.definition, "other")
				server.live[tt.definition].Object["data"] = map[string]any{"a": "ours"}
			}
			r := newRun(server.fake)
			r.engine.Server = server
			if err := r.engine.Run(t.Context(), phases([]plan.Item{definition}, []plan.Item{widget(t, "w", definition.Key())})); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, name := range server.read {
				if !strings.Contains(name, ".") {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if w := server.writes(); !slices.Contains(w, "apply w") {
				t.Errorf("wrote %q", w)
			}
		})
	}
}

// If another client creates an object after the run looked for it, the create fails. The object is
// then treated like any existing object.
func TestObjectCreatedMeanwhileIsNotOverwritten(t *testing.T) {
	definition := item(t, "x")
	definition.Name, definition.GVK.Kind = "widgets.example.com", "CustomResourceDefinition"
	server := &fake{live: map[string]*unstructured.Unstructured{}}
	server.apply = func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
		if u.GetKind() == "Widget" && server.found("w") == nil {
			server.appear("w", parse(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, uid: u, resourceVersion: '7'}}"))
			return nil, conflictErr()
		}
		return u, nil
	}
	r := newRun(server)
	_ = r.engine.Run(t.Context(), phases([]plan.Item{definition}, []plan.Item{widget(t, "w", definition.Key())}))
	looked := false
	for _, call := range server.calls {
		looked = looked || call == "get w"
	}
	if !looked {
		t.Errorf("the object that another client created was not read again: requests %q", server.calls)
	}
}
