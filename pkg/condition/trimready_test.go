package condition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A Deployment whose deadline has passed is judged by when its spec was written:
// Trim keeps that.
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
	want, got := c.JudgeAt(t.Context(), obj, now), c.JudgeAt(t.Context(), Trim(obj, c), now)
	if diff := cmp.Diff(want, got); diff != "" || want.Failed || want.Met {
		t.Errorf("%+v %s", want, diff)
	}
}
