package property_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// The server sets defaults, normalises Go types, tracks owners across versions, and writes nothing
// if nothing changes.
func TestServer(t *testing.T) {
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`{apiVersion: example.com/v1, kind: Thing, metadata: {name: x, namespace: shop},
		spec: {mapb: [{v: x}], typed: {quantity: 1024Mi, zero: 0, ref: {path: x}}}}`), &u.Object); err != nil {
		t.Fatal(err)
	}
	first, err := s.Apply(t.Context(), object.Kind{}, u, object.Write{Manager: "a"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"mapb":   []any{map[string]any{"k": "a", "v": "x"}},
		"preset": "d",
		"typed":  map[string]any{"quantity": "1Gi", "ref": map[string]any{"apiVersion": "v1", "path": "x"}},
	}
	if diff := cmp.Diff(want, first.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	other := u.DeepCopy()
	other.SetAPIVersion("example.com/v2")
	if _, err := s.Apply(t.Context(), object.Kind{}, other, object.Write{Manager: "b"}); !apierrors.IsConflict(err) {
		t.Errorf("another manager's apply: %v, want a conflict", err)
	}
	again, err := s.Apply(t.Context(), object.Kind{}, u, object.Write{Manager: "a"})
	if err != nil || again.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("the same apply again: %v, version %s after %s", err, again.GetResourceVersion(), first.GetResourceVersion())
	}
}

// A write does not depend on the time of an earlier one: entries are ordered by time, which is not
// a change.
func TestTimeAloneCausesNoWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newServer()
		if err != nil {
			t.Fatal(err)
		}
		apply := func(manager, spec string) string {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte("{apiVersion: example.com/v1, kind: Thing, metadata: {name: x, namespace: shop}, spec: "+spec+"}"), &u.Object); err != nil {
				t.Fatal(err)
			}
			answer, err := s.Apply(t.Context(), object.Kind{}, u, object.Write{Manager: manager})
			if err != nil {
				t.Fatal(err)
			}
			return answer.GetResourceVersion()
		}
		const ours = "{none: '1', set: [], typed: {quantity: '1', set: []}}"
		apply("a", ours)
		version := apply("b", "{mapb: [{k: a}]}")
		time.Sleep(2 * time.Second)
		if again := apply("a", ours); again != version {
			t.Errorf("version is %s, want the former version %s", again, version)
		}
	})
}
