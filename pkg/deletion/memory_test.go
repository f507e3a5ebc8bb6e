package deletion

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/heap"
)

// wire is a server that decodes an object anew for each read, and deletes objects at once.
type wire struct {
	fake
	objects int
}

func (w *wire) Watch(ctx context.Context, _ object.Kind, _ object.Selection, report func(object.Change)) error {
	for i := range w.objects {
		u := &unstructured.Unstructured{}
		text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c%[1]d", "namespace": "prod",
  "uid": "e7e7fdd6-96f6-4f0e-8b5f-%012[1]d", "resourceVersion": "%[1]d"}, "data": {"a": "some text of number %[1]d"}}`, i)
		if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
			return err
		}
		report(object.Present{Object: u})
	}
	report(object.Synced{})
	<-ctx.Done()
	return context.Cause(ctx)
}

func (*wire) Delete(context.Context, object.Kind, object.Ref, object.Deletion) (*unstructured.Unstructured, error) {
	return nil, nil
}

// For each object, the engine keeps little more than the name and UID. Once the object is gone,
// nothing about its deletion is kept. The test measures memory when the last result is reported,
// before the phase ends.
func TestMemoryPerDeletedObject(t *testing.T) {
	const (
		objects = 5000
		most    = 900 // bytes per object: its item, its target, and entries in three maps
	)
	before := heap.Reachable()
	items := make([]Item, objects)
	for i := range items {
		items[i].Ref = object.Ref{GVK: configMaps.GVK, Namespace: "prod", Name: fmt.Sprintf("c%d", i)}
	}
	var gone atomic.Int64
	kept := 0
	e := Engine{Server: &wire{objects: objects}, Wait: true, Emit: func(ev event.Event) {
		if d, ok := ev.(event.Deleted); ok && d.Action == event.Gone && gone.Add(1) == objects {
			kept = heap.Reachable() - before
		}
	}}
	err := e.Run(t.Context(), []Phase{{Name: "p", Sets: []Set{{Kind: configMaps, Selection: object.Selection{Namespace: "prod"}, Items: items}}}})
	if err != nil || gone.Load() != objects {
		t.Fatalf("%d are gone: %v", gone.Load(), err)
	}
	if each := kept / objects; each > most || each <= 0 {
		t.Errorf("%d bytes are kept per object, want at most %d", each, most)
	} else {
		t.Logf("%d bytes are kept per object", each)
	}
}
