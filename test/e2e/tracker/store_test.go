package tracker_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/tracker"
)

func (w *world) stored(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	list, err := w.typed.CoreV1().ConfigMaps(w.own).List(t.Context(), metav1.ListOptions{LabelSelector: tracker.Label + "=true"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

func (w *world) checkpoint(t *testing.T) tracker.Checkpoint {
	t.Helper()
	var c tracker.Checkpoint
	if stored := w.stored(t); stored != nil {
		fromJSON(t, stored.Data[tracker.CheckpointKey], &c)
	}
	return c
}

func (w *world) coverage(t *testing.T) tracker.Coverage {
	t.Helper()
	var c tracker.Coverage
	if stored := w.stored(t); stored != nil {
		fromJSON(t, stored.Data[tracker.CoverageKey], &c)
	}
	return c
}

func fromJSON(t *testing.T, text string, into any) {
	t.Helper()
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
