package schemas_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/schemas"
)

// A document of the plugin is refused if a field is unknown, missing or of another type; other output
// is ignored.
func TestOutput(t *testing.T) {
	v, err := schemas.Load("../../docs/schemas")
	if err != nil {
		t.Fatal(err)
	}
	const owners = `{"apiVersion":"cli.k8sconnect.io/v1beta1","kind":"OwnersResult","objects":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","fields":[{"path":".data","owners":[]}]}]}`
	for text, fault := range map[string]string{
		owners: "",
		strings.Replace(owners, "v1beta1", "v1alpha1", 1):                   "apiVersion",
		strings.Replace(owners, `"path":".data",`, "", 1):                   "path",
		strings.Replace(owners, `"name":"a"`, `"name":1`, 1):                "name",
		strings.Replace(owners, `"name":"a"`, `"name":"a","extra":true`, 1): "extra",
		strings.Replace(owners, "OwnersResult", "Unheard", 1):               "no schema for Unheard",
		`{"apiVersion":"v1","kind":"ConfigMap"}`:                            "",
		`{"time":"2026-01-02T03:04:05Z","type":"x"}` + "\n":                 "",
		`{"time":"2026-01-02T03:04:05Z","type":"x","total":"many"}` + "\n":  "total",
		"name: a\n": "",
	} {
		err := v.Output(text)
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %v, want %q", text, err, fault)
		}
	}
	if v.Seen["OwnersResult"] != 5 || v.Seen[schemas.Stream] != 2 {
		t.Errorf("seen: %v", v.Seen)
	}
}
