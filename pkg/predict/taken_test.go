package predict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// story is an object before and after a forced apply by us.
type story struct {
	before, after  []string // entries
	live, answer   string   // data
	manifest       string   // data
	manager        string
	lastApplied    string
	want           []string
	wantOwners     []string // of the first conflict
	yours, present any      // of the first conflict
	null           bool     // present is null, not absent
}

func TestTaken(t *testing.T) {
	other := func(version, fields string) string {
		return `{manager: them, operation: Update, apiVersion: ` + version + `, fieldsType: FieldsV1, fieldsV1: ` + fields + `}`
	}
	tests := map[string]story{
		"nothing": {
			before: []string{fieldstest.Entry("them", "Apply", `{f:data: {f:a: {}}}`)},
			after:  []string{fieldstest.Entry("them", "Apply", `{f:data: {f:a: {}}}`), fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live:   `{a: "1"}`, answer: `{a: "1"}`, manifest: `{a: "1"}`,
		},
		"from one of two owners, which keeps its other fields": {
			before: []string{fieldstest.Entry("them", "Apply", `{f:data: {f:a: {}, f:b: {}}}`), fieldstest.Entry("they", "Update", `{f:data: {f:a: {}}}`)},
			after:  []string{fieldstest.Entry("them", "Apply", `{f:data: {f:b: {}}}`), fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live:   `{a: "1", b: "1"}`, answer: `{a: "2", b: "1"}`, manifest: `{a: "2"}`,
			want: []string{".data.a"}, wantOwners: []string{"them (Apply)", "they (Update)"}, yours: "2", present: "1",
		},
		"others applied the parent as an empty map": {
			before: []string{fieldstest.Entry("them", "Apply", `{f:data: {f:m: {}}}`), fieldstest.Entry("they", "Update", `{f:data: {f:m: {f:x: {}}}}`)},
			after:  []string{fieldstest.Entry("them", "Apply", `{f:data: {f:m: {}}}`), fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {f:x: {}}}}`)},
			live:   `{m: {x: "1"}}`, answer: `{m: {x: "2"}}`, manifest: `{m: {x: "2"}}`,
			want: []string{".data.m.x"}, wantOwners: []string{"they (Update)"}, yours: "2", present: "1",
		},
		"map owned at another version, replaced by another value (edge case 7)": {
			before: []string{other("v2", `{f:data: {f:m: {.: {}, f:x: {}}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {}}}`)},
			live:   `{m: {x: "1"}}`, answer: `{m: []}`, manifest: `{m: []}`,
			want: []string{".data.m"}, wantOwners: []string{"them (Update)"}, yours: []any{}, present: map[string]any{"x": "1"},
		},
		"empty list replaces null of others (edge case 16)": {
			before: []string{fieldstest.Entry("them", "Update", `{f:data: {f:l: {}}}`)},
			live:   `{l: null}`, answer: `{l: []}`, manifest: `{l: []}`,
			want: []string{".data.l"}, wantOwners: []string{"them (Update)"}, yours: []any{}, null: true,
		},
		"from our own updates (edge case 6)": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Update", `{f:data: {f:a: {}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live:   `{a: "1"}`, answer: `{a: "2"}`, manifest: `{a: "2"}`,
			want: []string{".data.a"}, wantOwners: []string{fieldstest.Us + " (Update)"}, yours: "2", present: "1",
		},
		"a webhook rewrites what we state (edge case 15)": {
			before: []string{fieldstest.Entry("them", "Apply", `{f:data: {f:a: {}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live:   `{a: "rewritten"}`, answer: `{a: "rewritten"}`, manifest: `{a: "1"}`,
			want: []string{".data.a"}, wantOwners: []string{"them (Apply)"}, yours: "1", present: "rewritten",
		},
		"key left to defaults (edge case 3)": {
			before:   []string{fieldstest.Entry("them", "Apply", `{f:data: {f:p: {'k:{"port":53,"protocol":"TCP"}': {.: {}, f:port: {}, f:name: {}}}}}`)},
			after:    []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:p: {'k:{"port":53,"protocol":"TCP"}': {.: {}, f:port: {}, f:name: {}}}}}`), fieldstest.Entry("them", "Apply", `{f:data: {f:p: {'k:{"port":53,"protocol":"TCP"}': {.: {}, f:port: {}}}}}`)},
			live:     `{p: [{port: 53, protocol: TCP, name: a}]}`,
			answer:   `{p: [{port: 53, protocol: TCP, name: b}]}`,
			manifest: `{p: [{port: 53, name: b}]}`,
			want:     []string{`.data.p[port=53,protocol="TCP"].name`}, wantOwners: []string{"them (Apply)"}, yours: "b", present: "a",
		},
		"removed, not taken": {
			before: []string{fieldstest.Entry("them", "Update", `{f:data: {f:l: {'k:{"name":"x"}': {f:v: {}}}}}`), fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:l: {'k:{"name":"x"}': {.: {}, f:name: {}}}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live:   `{l: [{name: x, v: "1"}]}`, answer: `{a: "1"}`, manifest: `{a: "1"}`,
		},
		"null of others becomes a parent of ours (edge case 16)": {
			before: []string{fieldstest.Entry("them", "Apply", `{f:data: {f:m: {}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {f:x: {}}}}`)},
			live:   `{}`, answer: `{m: {x: "1"}}`, manifest: `{m: {x: "1"}}`,
			want: []string{".data.m"}, wantOwners: []string{"them (Apply)"}, yours: map[string]any{"x": "1"},
		},
		"granular map became atomic": {
			before: []string{fieldstest.Entry("them", "Apply", `{f:data: {f:m: {f:x: {}}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {}}}`)},
			live:   `{m: {x: "1"}}`, answer: `{m: {x: "2"}}`, manifest: `{m: {x: "2"}}`,
			want: []string{".data.m"}, wantOwners: []string{"them (Apply)"},
			yours: map[string]any{"x": "2"}, present: map[string]any{"x": "1"},
		},
		"granular map became atomic, with an equal value": {
			before: []string{fieldstest.Entry("them", "Apply", `{f:data: {f:m: {f:x: {}}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {}}}`), fieldstest.Entry("them", "Apply", `{f:data: {f:m: {}}}`)},
			live:   `{m: {x: "1"}}`, answer: `{m: {x: "1"}}`, manifest: `{m: {x: "1"}}`,
		},
		"of another version, renamed (edge case 7)": {
			before: []string{other("v1beta1", `{f:spec: {f:oldName: {}, f:z: {}}}`)},
			after:  []string{other("v1beta1", `{f:spec: {f:z: {}}}`), fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:newName: {}}}`)},
			live:   `{newName: "1"}`, answer: `{newName: "2"}`, manifest: `{newName: "2"}`,
			want: []string{".spec.oldName"}, wantOwners: []string{"them (Update)"},
		},
		"of a version that is no longer served (edge case 9)": {
			before: []string{other("v1alpha1", `{f:data: {f:a: {}, f:b: {}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live:   `{a: "1", b: "1"}`, answer: `{a: "2", b: "1"}`, manifest: `{a: "2"}`,
		},
		"all of an entry of another version": {
			before: []string{other("v1beta1", `{f:data: {f:a: {}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live:   `{a: "1"}`, answer: `{a: "2"}`, manifest: `{a: "2"}`,
			want: []string{".data.a"}, wantOwners: []string{"them (Update)"}, yours: "2", present: "1",
		},
		"fields of client-side apply, for the manager kubectl": {
			manager:     "kubectl",
			lastApplied: `{"apiVersion":"v1","kind":"Thing","data":{"a":"1","b":"other"}}`,
			before:      []string{fieldstest.Entry("kubectl-client-side-apply", "Update", `{f:data: {f:a: {}, f:b: {}}}`)},
			after:       []string{fieldstest.Entry("kubectl", "Apply", `{f:data: {f:a: {}, f:b: {}}}`)},
			live:        `{a: "1", b: "1"}`, answer: `{a: "2", b: "2"}`, manifest: `{a: "2", b: "2"}`,
			want: []string{".data.b"}, wantOwners: []string{"kubectl-client-side-apply (Update)"}, yours: "2", present: "1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			manager := fieldstest.Us
			if tt.manager != "" {
				manager = tt.manager
			}
			manifest := fieldstest.Read(t, "apiVersion: v1\nkind: Thing\nmetadata: {name: a}\ndata: "+tt.manifest)
			got, err := predict.Taken(fieldstest.Thing(t, tt.lastApplied, tt.before, tt.live), fieldstest.Thing(t, tt.lastApplied, tt.after, tt.answer), manifest, manager)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, fieldstest.ConflictPaths(got)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if len(got) == 0 {
				return
			}
			if diff := cmp.Diff(tt.wantOwners, fieldstest.OwnerTexts(got[0].Owners)); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]any{tt.yours, tt.present, tt.present != nil || tt.null}, []any{got[0].Yours, got[0].Live, got[0].HasLive}); diff != "" {
				t.Errorf("yours, live (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTakenMalformed(t *testing.T) {
	good, bad := fieldstest.Read(t, fieldstest.ConfLive), fieldstest.Read(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, managedFields: [{manager: m}]}}`)
	if _, err := predict.Taken(bad, good, good, fieldstest.Us); err == nil {
		t.Error("Taken() succeeded, want an error for the live object")
	}
	if _, err := predict.Taken(good, bad, good, fieldstest.Us); err == nil {
		t.Error("Taken() succeeded, want an error for the answer")
	}
}

// The server does not quote the keys in a path. The path must be recognized nevertheless.
func TestConflictsFromStatus(t *testing.T) {
	live, manifest := fieldstest.Read(t, fieldstest.WebLive), fieldstest.Read(t, fieldstest.Web)
	live.SetAnnotations(map[string]string{"example.com/a.b": "x"})
	cause := func(field string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: field, Message: `conflict with "somebody" using v1`}
	}
	tests := map[string]struct {
		causes []metav1.StatusCause
		want   []string
		owners []string
	}{
		"owned by another": {
			[]metav1.StatusCause{cause(`.spec.template.spec.containers[name="app"].image`), cause(`.spec.replicas`)},
			[]string{`.spec.replicas`, fieldstest.App + `.image`},
			[]string{"kubectl (scale)"},
		},
		"two managers, one path": {
			[]metav1.StatusCause{cause(`.spec.replicas`), cause(`.spec.replicas`)}, []string{`.spec.replicas`}, []string{"kubectl (scale)"},
		},
		"dotted key without an owner (edge case 1)": {
			[]metav1.StatusCause{cause(`.metadata.annotations.example.com/a.b`)}, []string{`.metadata.annotations["example.com/a.b"]`}, nil,
		},
		"dotted key of the manifest (edge case 1)": {
			[]metav1.StatusCause{cause(`.metadata.labels.app.kubernetes.io/name`)}, []string{`.metadata.labels["app.kubernetes.io/name"]`}, nil,
		},
		"list item of the object": {
			[]metav1.StatusCause{cause(`.spec.template.spec.containers[name="app"].ports[containerPort=8080,protocol="TCP"].protocol`)},
			[]string{fieldstest.App + `.ports[containerPort=8080,protocol="TCP"].protocol`},
			nil,
		},
		"path in neither object":     {[]metav1.StatusCause{cause(`.spec.gone`)}, []string{`.spec.gone`}, nil},
		"path that cannot be parsed": {[]metav1.StatusCause{cause(`.a[`)}, []string{`[".a["]`}, nil},
		"other causes": {
			[]metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.replicas"}}, nil, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := predict.ConflictsFromStatus(tt.causes, live, manifest, fieldstest.Us)
			if diff := cmp.Diff(tt.want, fieldstest.ConflictPaths(got)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if len(got) > 0 {
				if diff := cmp.Diff(tt.owners, fieldstest.OwnerTexts(got[0].Owners)); diff != "" {
					t.Errorf("owners (-want +got):\n%s", diff)
				}
			}
		})
	}
	// Two owned paths have the same text without quotes, and the manifest sets only one of them.
	twins := fieldstest.Thing(t, "", []string{fieldstest.Entry("them", "Apply", `{f:data: {f:a.b: {}, f:a: {f:b: {}}}}`)}, `{a.b: "1", a: {b: "1"}}`)
	twin := fieldstest.Read(t, `{apiVersion: v1, kind: Thing, metadata: {name: a}, data: {a: {b: "2"}}}`)
	got := predict.ConflictsFromStatus([]metav1.StatusCause{cause(".data.a.b")}, twins, twin, fieldstest.Us)
	if diff := cmp.Diff([]string{".data.a.b"}, fieldstest.ConflictPaths(got)); diff != "" {
		t.Error(diff)
	}
	if got := predict.ConflictsFromStatus([]metav1.StatusCause{cause(".a")}, nil, nil, fieldstest.Us); len(got) != 1 {
		t.Errorf("without objects: %v", got)
	}
}
