package apply

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/test/heap"
)

const (
	manifestText = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c%[1]d", "namespace": "n", "labels": {"app": "a", "part": "p%[1]d"}},
  "data": {"a": "some text of number %[1]d", "b": "line\nline\nline\n", "c": "listen = 0.0.0.0:8080\nworkers = 4\nretries = %[1]d\n", "version": "1"}}`
	liveText = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c%[1]d", "namespace": "n", "labels": {"app": "a", "part": "p%[1]d"},
  "uid": "e7e7fdd6-96f6-4f0e-8b5f-%012[1]d", "resourceVersion": "%[1]d", "creationTimestamp": "2026-11-20T10:00:00Z",
  "managedFields": [{"manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "time": "2026-11-20T10:00:00Z", "fieldsType": "FieldsV1",
    "fieldsV1": {"f:metadata": {"f:labels": {"f:app": {}, "f:part": {}}}, "f:data": {"f:a": {}, "f:b": {}, "f:c": {}, "f:version": {}}}}]},
  "data": {"a": "some text of number %[1]d", "b": "line\nline\nline\n", "c": "listen = 0.0.0.0:8080\nworkers = 4\nretries = %[1]d\n", "version": "1"}}`
)

// decoded returns object i of a text as it is read from the wire: nothing of it is shared.
func decoded(text string, i int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(fmt.Appendf(nil, text, i), &u.Object); err != nil {
		panic(err)
	}
	return u
}

// wire is a server that decodes each answer anew.
type wire struct {
	fake
	there bool
}

func (w *wire) Live(_ context.Context, _ object.Kind, refs []object.Ref, visit func(int, *unstructured.Unstructured, error)) {
	for i := range refs {
		if w.there {
			visit(i, decoded(liveText, i), nil)
		} else {
			visit(i, nil, nil)
		}
	}
}

func (w *wire) Apply(_ context.Context, _ object.Kind, u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
	var i int
	if _, err := fmt.Sscanf(u.GetName(), "c%d", &i); err != nil {
		return nil, err
	}
	return decoded(liveText, i), nil
}

// Nothing is kept of an object that is settled but what became of it, whether it was
// created or is unchanged: not the manifest, the live object, the answer, nor what was
// worked out of them. It is measured as the last object is reported, while the phase is
// not over, and against the heap before the manifests were read.
func TestNothingIsKeptOfWhatIsSettled(t *testing.T) {
	const (
		objects = 6000 // so many that their manifests are packed
		most    = 750  // bytes an object: its place in the plan, its name, its result
	)
	for name, there := range map[string]bool{"created": false, "unchanged": true} {
		t.Run(name, func(t *testing.T) {
			before := heap.Reachable()
			p := &plan.Plan{Phases: []plan.Phase{{Items: make([]plan.Item, objects)}}}
			for i := range p.Phases[0].Items {
				u := decoded(manifestText, i)
				p.Phases[0].Items[i] = plan.Item{
					Ref: object.RefOf(u), Object: u,
					Kind: object.Kind{GVK: u.GroupVersionKind(), Resource: "configmaps", Namespaced: true},
				}
			}
			r := newRun(nil)
			kept, seen := 0, 0
			r.engine.Server, r.engine.Forget = &wire{there: there}, true
			r.engine.Emit = func(e event.Event) {
				applied, ok := e.(event.Applied)
				if !ok {
					return
				}
				if string(applied.Action) != name {
					t.Errorf("%s: %s %v", applied.Ref, applied.Action, applied.Err)
				}
				if seen++; seen == objects {
					kept = heap.Reachable() - before
				}
			}
			if err := r.engine.Run(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if each := kept / objects; each > most || kept == 0 {
				t.Errorf("%d bytes are kept of each object", each)
			} else {
				t.Logf("%d bytes are kept of each object", each)
			}
			runtime.KeepAlive(p)
		})
	}
}
