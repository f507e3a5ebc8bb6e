package readiness

import (
	"encoding/json"
	"testing"
)

// Edge case 96: an autoscaler has the same verdict in every version of its API. At autoscaling/v1,
// its conditions are not in the status, but in an annotation that the API server sets.
func TestAutoscalerInEachVersion(t *testing.T) {
	statuses := []string{"True", "False", "Unknown", ""}
	reasons := []string{"", "ScalingDisabled", "FailedGetScale"}
	ready := 0
	for _, able := range statuses {
		for _, active := range statuses {
			for _, reason := range reasons {
				var conditions []any
				for kind, status := range map[string]string{"AbleToScale": able, "ScalingActive": active} {
					if status != "" {
						conditions = append(conditions, map[string]any{"type": kind, "status": status, "reason": reason, "message": "so it is"})
					}
				}
				text, err := json.Marshal(conditions)
				if err != nil {
					t.Fatal(err)
				}
				annotations := map[string]any{}
				if conditions != nil {
					annotations["autoscaling.alpha.kubernetes.io/conditions"] = string(text)
				}
				autoscaler := func(version string, annotations, status map[string]any) map[string]any {
					return map[string]any{
						"apiVersion": "autoscaling/" + version, "kind": "HorizontalPodAutoscaler",
						"metadata": map[string]any{"name": "h", "annotations": annotations}, "status": status,
					}
				}
				evaluate := func(obj map[string]any) string {
					u := parse(t, mustJSON(t, obj))
					v := For(u.GroupVersionKind()).Evaluate(u.Object, noon())
					if v.Ready {
						ready++
					}
					return inWords(v)
				}
				v2 := evaluate(autoscaler("v2", nil, map[string]any{"conditions": conditions}))
				v1 := evaluate(autoscaler("v1", annotations, map[string]any{"currentReplicas": int64(1)}))
				if v1 != v2 {
					t.Errorf("AbleToScale %q, ScalingActive %q (%s): %s at v1, %s at v2", able, active, reason, v1, v2)
				}
			}
		}
	}
	if ready == 0 {
		t.Error("no autoscaler is ready")
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
