package noop_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// A nonempty list that is a leaf of our entry is unchanged only if it is known to be atomic
// (edge case 89).
func TestLeafLists(t *testing.T) {
	tests := map[string]struct {
		version, list string
		want          noop.Verdict
	}{
		"atomic list of a built-in kind": {"v1", "args", settled},
		"owned by item":                  {"apps/v1", "ports", noop.Doubtful},
		"list of a custom kind":          {"example.com/v1", "args", noop.Doubtful},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			head := "apiVersion: " + tt.version + "\nkind: Thing\nmetadata:\n  name: a\n"
			spec := "spec: {" + tt.list + ": [a]}\n"
			entry := "{manager: " + fieldstest.Us + ", operation: Apply, apiVersion: " + tt.version +
				", fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:" + tt.list + "': {}}}}"
			live := fieldstest.Read(t, head+"  managedFields:\n  - "+entry+"\n"+spec)
			if got, _ := noop.Evaluate(live, fieldstest.Read(t, head+spec), fieldstest.Us); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
