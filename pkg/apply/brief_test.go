package apply

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// A dry run that only saves a write cannot make the write fail: some webhooks refuse every dry run.
func TestRefusedDryRunOfAChangedValue(t *testing.T) {
	for name, refusal := range map[string]error{
		"a webhook with side effects": apierrors.NewBadRequest("admission webhook does not support dry run"),
		"a failing webhook":           apierrors.NewInternalError(errors.New("failed calling webhook")),
	} {
		t.Run(name, func(t *testing.T) {
			live := parse(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: n
  name: a
  resourceVersion: "7"
  managedFields:
  - {manager: k8sconnect, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}
data: {a: former}
`)
			server := &fake{live: map[string]*unstructured.Unstructured{"a": live}}
			server.apply = func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
				if how.DryRun {
					return nil, refusal
				}
				return u, nil
			}
			r := newRun(server)
			if err := r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a")})); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{"a configured"}, r.results()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"try a", "apply a"}, server.calls); diff != "" {
				t.Errorf("requests: %s", diff)
			}
		})
	}
}
