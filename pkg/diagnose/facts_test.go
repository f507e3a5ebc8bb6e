package diagnose_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// An object is converted only once for all rules and rounds, even if the conversion fails. Forget
// also drops conversions.
func TestTypedConvertsOnce(t *testing.T) {
	objects := diagnosetest.Read(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: node-1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: 7}`)
	facts := diagnose.NewFacts(objects...)
	first, ok := diagnose.Typed[corev1.Pod](facts, objects[0])
	if !ok || first.Spec.NodeName != "node-1" {
		t.Fatalf("%v, %v", first, ok)
	}
	if again, ok := diagnose.Typed[corev1.Pod](facts, objects[0]); !ok || again != first {
		t.Error("it was converted again")
	}
	if node, ok := diagnose.Typed[corev1.Node](facts, objects[0]); !ok || node.Name != "a" {
		t.Errorf("as another type: %v, %v", node, ok)
	}
	for range 2 {
		if other, ok := diagnose.Typed[corev1.Pod](facts, objects[1]); ok || other != nil {
			t.Errorf("object that does not fit: %v", other)
		}
		if none, ok := diagnose.Typed[corev1.Pod](facts, nil); ok || none != nil {
			t.Errorf("no object: %v", none)
		}
	}
	facts.Forget(func(diagnose.Question, time.Time) bool { return false })
	if again, ok := diagnose.Typed[corev1.Pod](facts, objects[0]); !ok || again == first {
		t.Error("Forget kept the conversion")
	}
}
