package ownership_test

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

// For arbitrary managed fields, nothing panics. The transitions lead from the owners of one version
// to those of the next, and the reverse transitions lead back.
func FuzzTransitions(f *testing.F) {
	for _, tt := range stories {
		f.Add(asJSON(f, thing(f, "v1", tt.before, orEmpty(tt.spec))), asJSON(f, thing(f, "v1", tt.after, orEmpty(tt.then))))
	}
	f.Fuzz(func(t *testing.T, oldJSON, newJSON []byte) {
		var old, now map[string]any
		if json.Unmarshal(oldJSON, &old) != nil || json.Unmarshal(newJSON, &now) != nil || old == nil || now == nil {
			return
		}
		checkReplay(t, &unstructured.Unstructured{Object: old}, &unstructured.Unstructured{Object: now})
		checkReplay(t, &unstructured.Unstructured{Object: now}, &unstructured.Unstructured{Object: old})
	})
}

// Typed and untyped clients decode a field set to the same value, or both refuse it.
func FuzzFieldsV1(f *testing.F) {
	for _, seed := range []string{
		`{"f:a":{".":{},"f:b":{}}}`, `{"k:{\"a\":1}":{}}`, `{"v:\"x\"":{}}`, `{"i:0":{}}`, `{"x:?":{}}`, `[]`, `null`, `{"f:":{"":{}}}`,
	} {
		f.Add([]byte(seed), []byte(`{}`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		before, err := ownersOf(a)
		if err != nil {
			return
		}
		after, err := ownersOf(b)
		if err != nil {
			return
		}
		transitions, err := ownership.Between(before, after)
		if err != nil {
			t.Fatal(err)
		}
		state := stateOf(t, before)
		state.replay(t, transitions)
		state.compare(t, stateOf(t, after))
	})
}

func ownersOf(fields []byte) (ownership.Owners, error) {
	owners := ownership.Compact([]metav1.ManagedFieldsEntry{{
		Manager: "m", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)),
	}})
	_, err := owners.Entries()
	return owners, err
}

func stateOf(t *testing.T, owners ownership.Owners) state {
	entries, err := owners.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return ownedBy(entries)
}

func checkReplay(t *testing.T, old, now *unstructured.Unstructured) {
	before, err := managedfields.Entries(old)
	if err != nil {
		return
	}
	after, err := managedfields.Entries(now)
	if err != nil {
		return
	}
	transitions, err := ownershiptest.Transitions(old, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range transitions {
		if (tr.Why == "") != (tr.Kind != ownership.Unclear) {
			t.Fatalf("%s: got reason %q", tr, tr.Why)
		}
		if tr.Kind == ownership.Taken && (len(tr.Lost()) == 0 || len(tr.After) == 0) {
			t.Fatalf("%s: taken, but no owner lost or gained the path", tr)
		}
	}
	s := ownedBy(before)
	s.replay(t, transitions)
	s.compare(t, ownedBy(after))
	same, err := ownershiptest.Transitions(now, now)
	if err != nil || len(same) > 0 {
		t.Fatalf("transitions between equal versions: %v, %v", texts(same), err)
	}
}

func orEmpty(spec string) string {
	if spec == "" {
		return "{}"
	}
	return spec
}

func asJSON(f *testing.F, u *unstructured.Unstructured) []byte {
	content, err := json.Marshal(u.Object)
	if err != nil {
		f.Fatal(err)
	}
	return content
}
