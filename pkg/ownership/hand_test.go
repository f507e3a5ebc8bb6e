package ownership_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

// A path counts as given only if its value did not change and the sender of the write does not own
// it afterwards.
func TestHand(t *testing.T) {
	object := func(value, entries string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, managedFields: [" + entries + "]}, data: {a: '" + value + "', b: '1'}}"
	}
	entry := func(manager, operation, fields string) string {
		return "{manager: " + manager + ", operation: " + operation + ", apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {" + fields + "}}}"
	}
	before := object("1", entry("edit", "Update", "f:a: {}, f:b: {}")+", "+entry("helm", "Apply", "f:b: {}"))
	for name, tc := range map[string]struct {
		after string
		want  []ownership.Kind
	}{
		"some of the paths":            {object("1", entry("edit", "Update", "f:b: {}")+", "+entry("helm", "Apply", "f:a: {}, f:b: {}")), []ownership.Kind{ownership.Given}},
		"all paths":                    {object("1", entry("helm", "Apply", "f:a: {}, f:b: {}")), []ownership.Kind{ownership.Given, ownership.Given}},
		"a value changes":              {object("2", entry("edit", "Update", "f:b: {}")+", "+entry("helm", "Apply", "f:a: {}, f:b: {}")), []ownership.Kind{ownership.Taken}},
		"to the writer of the request": {object("1", entry("edit", "Update", "f:b: {}")+", "+entry("helm", "Apply", "f:b: {}")+", "+entry("k8sconnect-give", "Update", "f:a: {}")), []ownership.Kind{ownership.Unclear}},
		"shared, so no owner loses it": {object("1", entry("edit", "Update", "f:a: {}, f:b: {}")+", "+entry("helm", "Apply", "f:a: {}, f:b: {}")), []ownership.Kind{ownership.Shared}},
		"without a receiver":           {object("1", entry("edit", "Update", "f:b: {}")+", "+entry("helm", "Apply", "f:b: {}")), []ownership.Kind{ownership.Released}},
	} {
		transitions, err := ownershiptest.Transitions(fieldstest.Read(t, before), fieldstest.Read(t, tc.after))
		if err != nil {
			t.Fatal(err)
		}
		ownership.Hand(transitions)
		if len(transitions) != len(tc.want) {
			t.Errorf("%s: %v", name, transitions)
			continue
		}
		for i, tr := range transitions {
			if tr.Kind != tc.want[i] {
				t.Errorf("%s: %s", name, tr)
			}
		}
		again := ownership.VerdictsOn(transitions)
		for i := range transitions {
			transitions[i].Kind = ""
		}
		if !again.On(transitions) || transitions[0].Kind != tc.want[0] {
			t.Errorf("%s: the verdict was not restored", name)
		}
	}
}
