package condition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Trim keeps the time when the spec was last written, since it decides whether an exceeded deadline
// is for the present spec.
func TestTrimForReady(t *testing.T) {
	obj := objectOf(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
  generation: 1
  managedFields:
  - {manager: a, time: "2026-01-01T11:55:00Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec: {replicas: 1, progressDeadlineSeconds: 600, template: {spec: {containers: []}}}
status:
  observedGeneration: 1
  conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, lastUpdateTime: "2026-01-01T10:00:00Z"}]
`)
	c := compiled(t, deployment(), nil, "ready")
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	want, got := c.EvaluateAt(t.Context(), obj, now), c.EvaluateAt(t.Context(), Trim(obj, c), now)
	if diff := cmp.Diff(want, got); diff != "" || want.Failed || want.Met {
		t.Errorf("%+v %s", want, diff)
	}
}

// The conditions of a HorizontalPodAutoscaler at autoscaling/v1 are in an annotation, which Trim
// keeps.
func TestTrimForReadyOfAnAutoscaler(t *testing.T) {
	obj := objectOf(t, `
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata:
  name: h
  annotations:
    autoscaling.alpha.kubernetes.io/conditions: '[{"type": "AbleToScale", "status": "True"}, {"type": "ScalingActive", "status": "True"}]'
status: {currentReplicas: 1}
`)
	c := compiled(t, schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}, nil, "ready")
	want, got := c.Evaluate(t.Context(), obj), c.Evaluate(t.Context(), Trim(obj, c))
	if diff := cmp.Diff(want, got); diff != "" || !want.Met {
		t.Errorf("%+v %s", want, diff)
	}
}
