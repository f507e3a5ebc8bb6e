package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
)

// With Lenient, keys that kubectl and Helm accept have the values that their decoder gives them. An object that is
// invalid for another reason does not hide the others.
func TestLenientKeys(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for _, data := range []string{
		"data: {y: a}", "data: {n: a, Yes: b}", "data: {on: a, OFF: b}", "data: {true: a}", "data: {mode: a, mode: b}",
		"data:\n  a: b\ndata:\n  c: d", "metadata: {name: b}", "data: {a: {y: {no: 1}}}", "x: &x {a: b}\ndata:\n  <<: *x\n  a: c\n  b: d\n  b: e",
	} {
		text := head + data + "\n"
		var want map[string]any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		invalid := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../c}\n"
		read, err := manifest.Read(t.Context(), manifest.Options{Filenames: []string{"-"}, In: strings.NewReader(text + invalid), Lenient: true})
		if err == nil || len(read.Objects) != 1 {
			t.Errorf("%s: %d objects, error %v", data, len(read.Objects), err)
			continue
		}
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, read.Objects[0].Object.Object)); diff != "" {
			t.Errorf("%s: (-sigs.k8s.io/yaml +Read)\n%s", data, diff)
		}
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
