package predict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Edge case 12: the server does not relate stringData to data when it compares owners.
func TestBeside(t *testing.T) {
	const (
		helmsPlain = `{manager: helm, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:stringData": {"f:a": {}}}}`
		oursPlain  = `{manager: k8sconnect, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:stringData": {"f:a": {}}}}`
		oursData   = `{manager: k8sconnect, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}, "f:b": {}}}}`
		helmsData  = `{manager: helm, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}`
	)
	tests := map[string]struct {
		entries, data string
		want          string
		claimed       string
	}{
		"another value than helm's":           {entries: helmsPlain, data: `{a: eQ==}`, want: `{data: {a: eQ==}, stringData: {a: "y"}}`},
		"the same value, spelled differently": {entries: helmsPlain, data: `{a: "eA=\n="}`, want: `{data: {a: "eA=\n="}}`},
		"a value that is not UTF-8":           {entries: helmsPlain, data: `{a: /w==}`, want: `{data: {a: /w==}}`},
		"absent, and only ours":               {entries: oursData, data: `{b: eA==}`, want: `{data: {b: eA==}}`},
		"absent, and helm's, too":             {entries: oursData + ", " + helmsPlain, data: `{b: eA==}`, want: `{data: {a: eA==, b: eA==}}`},
		"absent, and helm owns data":          {entries: oursData + ", " + helmsData, data: `{b: eA==}`, want: `{data: {b: eA==}}`},
		"absent, and recorded as ours":        {entries: oursPlain, data: `{b: eA==}`, want: `{data: {b: eA==}}`, claimed: ".data.a"},
		"recorded by both":                    {entries: oursPlain + ", " + helmsPlain, data: `{b: eA==}`, want: `{data: {b: eA==}}`},
		"present, and recorded as ours":       {entries: oursPlain, data: `{a: eQ==}`, want: `{data: {a: eQ==}}`},
		"absent, and only helm's":             {entries: helmsPlain, data: `{b: eA==}`, want: `{data: {b: eA==}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live := fieldstest.Read(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, managedFields: [`+tt.entries+`]}, data: {a: eA==, b: eA==}}`)
			body := fieldstest.Read(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: `+tt.data+`}`)
			was := body.DeepCopy()
			got, paths, err := predict.Beside(body, live, fieldstest.Us)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := yaml.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			declared := map[string]any{}
			for _, name := range []string{"data", "stringData"} {
				if v, ok := got.Object[name]; ok {
					declared[name] = v
				}
			}
			if diff := cmp.Diff(want, declared); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			claimed := ""
			for _, p := range paths {
				claimed += p.String()
			}
			if claimed != tt.claimed {
				t.Errorf("claimed %q, want %q", claimed, tt.claimed)
			}
			if diff := cmp.Diff(was, body); diff != "" {
				t.Errorf("the body was changed: %s", diff)
			}
		})
	}
}
