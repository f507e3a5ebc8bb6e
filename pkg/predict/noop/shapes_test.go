package noop_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// The kind has no schema, so only managed fields show the shape of a value.
func TestJudgeShapes(t *testing.T) {
	ours := func(fields string) string { return fieldstest.Entry(fieldstest.Us, "Apply", fields) }
	tests := map[string]struct {
		entries  []string
		live     string
		manifest string
		want     noop.Verdict
	}{
		"owned by our own update (edge case 6)": {
			[]string{ours(`{f:data: {f:a: {}}}`), fieldstest.Entry(fieldstest.Us, "Update", `{f:data: {f:b: {}}}`)},
			`{a: "1", b: "2"}`, `{a: "1", b: "3"}`, refused,
		},
		"atomic or once empty: no name of an atomic map": {
			[]string{ours(`{f:data: {f:from: {}}}`)}, `{from: {kind: Same}}`, `{from: {kind: Same}}`, doubtful,
		},
		"atomic or once empty: a name of an atomic map": {
			[]string{ours(`{f:data: {f:selector: {}}}`)}, `{selector: {kind: Same}}`, `{selector: {kind: Same}}`, settled,
		},
		"atomic or once empty: others own its fields": {
			[]string{ours(`{f:data: {f:selector: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:selector: {f:kind: {}}}}`)},
			`{selector: {kind: Same}}`, `{selector: {kind: Same}}`, doubtful,
		},
		"empty map filled by others (edge case 13)": {
			[]string{ours(`{f:data: {f:m: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:m: {f:x: {}}}}`)},
			`{m: {x: x}}`, `{m: {}}`, settled,
		},
		"empty map filled by defaults": {
			[]string{ours(`{f:data: {f:m: {}}}`)}, `{m: {x: x}}`, `{m: {}}`, doubtful,
		},
		"empty list where others made a map": {
			[]string{ours(`{f:data: {f:a: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:l: {.: {}, f:x: {}}}}`)},
			`{a: "1", l: {x: x}}`, `{a: "1", l: []}`, doubtful,
		},
		"empty map where others made a list": {
			[]string{ours(`{f:data: {f:m: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:m: {.: {}, 'v:"x"': {}}}}`)},
			`{m: [x]}`, `{m: {}}`, doubtful,
		},
		"empty map": {[]string{ours(`{f:data: {f:m: {}}}`)}, `{m: {}}`, `{m: {}}`, settled},
		"empty map that is not live": {
			[]string{ours(`{f:data: {f:m: {}}}`)}, `{z: "1"}`, `{m: {}}`, doubtful,
		},
		"empty list of items that others own": {
			[]string{ours(`{f:data: {f:a: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:l: {'v:"x"': {}}}}`)},
			`{a: "1", l: [x]}`, `{a: "1", l: []}`, settled,
		},
		"empty list that may be atomic": {
			[]string{ours(`{f:data: {f:a: {}}}`)}, `{a: "1"}`, `{a: "1", l: []}`, doubtful,
		},
		"null, stored (edge case 16)": {
			[]string{ours(`{f:data: {f:x: {}}}`)}, `{x: null}`, `{x: null}`, settled,
		},
		"null, not stored (edge case 16)": {
			[]string{ours(`{f:data: {f:x: {}}}`)}, `{z: "1"}`, `{x: null}`, settled,
		},
		"null, not stored, and applied by others": {
			[]string{ours(`{f:data: {f:x: {}}}`), fieldstest.Entry("them", "Apply", `{f:data: {f:x: {}}}`)},
			`{z: "1"}`, `{x: null}`, doubtful,
		},
		"null for a value (edge case 16)": {
			[]string{ours(`{f:data: {f:x: {}}}`)}, `{x: "1"}`, `{x: null}`, doubtful,
		},
		"integer and fraction by value": {
			[]string{ours(`{f:data: {f:x: {}}}`)}, `{x: 2}`, `{x: 2.0}`, settled,
		},
		"quantity in another spelling (edge case 11)": {
			[]string{ours(`{f:data: {f:memory: {}}}`)}, `{memory: 1Gi}`, `{memory: 1024Mi}`, doubtful,
		},
		"quantity in another spelling, owned by others too (edge case 11)": {
			[]string{ours(`{f:data: {f:memory: {}}}`), fieldstest.Entry("them", "Apply", `{f:data: {f:memory: {}}}`)},
			`{memory: 1Gi}`, `{memory: 1024Mi}`, refused,
		},
		"set of numbers": {
			[]string{ours(`{f:data: {f:l: {'v:80': {}, 'v:443': {}}}}`)}, `{l: [80, 8080, 443]}`, `{l: [80, 443]}`, settled,
		},
		"set in another order": {
			[]string{ours(`{f:data: {f:l: {'v:80': {}, 'v:443': {}}}}`)}, `{l: [443, 80]}`, `{l: [80, 443]}`, doubtful,
		},
		"atomic list in another order": {
			[]string{ours(`{f:data: {f:l: {}}}`)}, `{l: [a, b]}`, `{l: [b, a]}`, clearly,
		},
		"two live items with one key": {
			[]string{ours(`{f:data: {f:env: {'k:{"name":"A"}': {.: {}, f:name: {}}}}}`)},
			`{env: [{name: A}, {name: A, v: "1"}]}`, `{env: [{name: A}]}`, doubtful,
		},
		"item of which we own only the key": {
			[]string{ours(`{f:data: {f:env: {'k:{"name":"A"}': {f:name: {}}}}}`)},
			`{env: [{name: A}]}`, `{env: [{name: A}]}`, doubtful,
		},
		"map of maps": {
			[]string{ours(`{f:data: {f:m: {f:k: {.: {}, f:v: {}}}}}`)}, `{m: {k: {v: "1"}}}`, `{m: {k: {v: "1"}}}`, settled,
		},
		"entry of another version (edge case 7)": {
			[]string{ours(`{f:data: {f:a: {}}}`), `{manager: them, operation: Update, apiVersion: v1beta1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:z: {}}}}`},
			`{a: "1", z: "2"}`, `{a: "1"}`, doubtful,
		},
		"empty entry": {
			[]string{ours(`{f:data: {f:a: {}}}`), fieldstest.Entry("them", "Update", `{}`)}, `{a: "1"}`, `{a: "1"}`, doubtful,
		},
		"top-level field that was applied empty": {
			[]string{ours(`{f:data: {}}`)}, `{a: "1"}`, `{a: "1"}`, doubtful,
		},
		"others' item, another value (edge case 4)": {
			[]string{fieldstest.Entry("them", "Apply", `{f:data: {f:env: {'k:{"name":"A"}': {.: {}, f:name: {}, f:value: {}}}}}`)},
			`{env: [{name: A, value: "1"}]}`, `{env: [{name: B, value: "1"}, {name: A, value: "2"}]}`, refused,
		},
		"others' item, equal": {
			[]string{fieldstest.Entry("them", "Apply", `{f:data: {f:env: {'k:{"name":"A"}': {.: {}, f:name: {}, f:value: {}}}}}`)},
			`{env: [{name: A, value: "1"}]}`, `{env: [{name: B, value: "1"}, {name: A, value: "1"}]}`, clearly,
		},
		"others' item, part of its key left out (edge case 3)": {
			[]string{fieldstest.Entry("them", "Apply", `{f:data: {f:ports: {'k:{"port":53,"protocol":"TCP"}': {.: {}, f:name: {}, f:port: {}}}}}`)},
			`{ports: [{port: 53, protocol: TCP, name: a}]}`, `{ports: [{port: 53, name: b}]}`, doubtful,
		},
		"others' item, twice in the live list": {
			[]string{fieldstest.Entry("them", "Update", `{f:data: {f:env: {'k:{"name":"A"}': {.: {}, f:name: {}, f:value: {}}}}}`)},
			`{env: [{name: A, value: "1"}, {name: A, value: "2"}]}`, `{env: [{name: A, value: "1"}]}`, doubtful,
		},
		"others' atomic list": {
			[]string{fieldstest.Entry("them", "Apply", `{f:data: {f:l: {}}}`)}, `{l: [a]}`, `{l: [b]}`, doubtful,
		},
		"a string instead of others' fields": {
			[]string{fieldstest.Entry("them", "Apply", `{f:data: {f:m: {f:x: {}}}}`)}, `{m: {x: x}}`, `{m: text}`, doubtful,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			head := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a"
			text := ""
			for i, e := range tt.entries {
				if i > 0 {
					text += ", "
				}
				text += e
			}
			live := fieldstest.Read(t, head+", managedFields: ["+text+"]}\ndata: "+tt.live)
			manifest := fieldstest.Read(t, head+"}\ndata: "+tt.manifest)
			if got, conflicts := noop.Evaluate(live, manifest, fieldstest.Us); got != tt.want {
				t.Errorf("got %v, want %v; conflicts %v", got, tt.want, fieldstest.ConflictPaths(conflicts))
			}
		})
	}
}
