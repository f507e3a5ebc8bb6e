package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// The wanted parts of two objects lead to the same result as the whole objects.
func TestWantedIsEnough(t *testing.T) {
	const key = `{"f:spec":{"f:list":{"k:{\"name\":\"b\"}":{".":{},"f:v":{}},"v:\"x\"":{}},"f:atomic":{},"f:map":{"f:a":{},".":{}}}}`
	held := func(manager, fields, spec string) []byte {
		return []byte(`{"apiVersion":"v1","kind":"Thing","metadata":{"name":"x","managedFields":[{"manager":"` + manager +
			`","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + fields + `}],"labels":{"a":"b"}},"spec":` + spec + `}`)
	}
	was := held("argo", key, `{"list":[{"name":"a","v":1},{"name":"b","v":1,"w":1},"x"],"atomic":{"a":[1,{"b":2}]},"map":{"a":1,"b":1}}`)
	tests := map[string]struct{ old, now []byte }{
		"a large object":    {deployment(t, "1", "argo"), deployment(t, "2", "flux")},
		"all the same":      {was, held("flux", key, `{"list":[{"name":"a","v":1},{"name":"b","v":1,"w":1},"x"],"atomic":{"a":[1,{"b":2}]},"map":{"a":1,"b":1}}`)},
		"others than ours":  {was, held("flux", key, `{"list":[{"name":"b","v":1,"w":2},{"name":"a","v":2}],"atomic":{"a":[1,{"b":2}]},"map":{"a":1,"b":2}}`)},
		"all others":        {was, held("flux", key, `{"list":[{"name":"b","v":2}],"atomic":{"a":[1,{"b":3}]},"map":{"a":2}}`)},
		"of other sorts":    {was, held("flux", key, `{"list":{"name":"b"},"atomic":1,"map":[{"a":1}]}`)},
		"gone":              {was, held("flux", `{"f:spec":{}}`, `null`)},
		"let go of":         {was, held("argo", `{"f:spec":{}}`, `{"list":[{"name":"b","v":2}],"atomic":{},"map":{"a":null}}`)},
		"shared":            {was, []byte(string(was[:len(was)-1]) + `}`)},
		"at another number": {held("argo", `{"f:spec":{"f:l":{"i:1":{}}}}`, `{"l":[1,2]}`), held("flux", `{"f:spec":{"f:l":{"i:1":{}}}}`, `{"l":[1,3]}`)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			old, now := subjectOf(t, tt.old), subjectOf(t, tt.now)
			before, after := ownership.Compact(old.metadata.ManagedFields), ownership.Compact(now.metadata.ManagedFields)
			between := func(all bool) (texts []string) {
				transitions, err := ownership.BetweenObjects(before, after, func(paths []fieldpath.Path) (_, _ *unstructured.Unstructured, err error) {
					w := wantedFor(paths)
					if all {
						w = nil
					}
					return readBoth(old, now, w)
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, transition := range transitions {
					texts = append(texts, transition.String())
				}
				return texts
			}
			if diff := cmp.Diff(between(true), between(false)); diff != "" {
				t.Errorf("from the whole objects, and from the wanted parts:\n%s", diff)
			}
		})
	}
}

func subjectOf(t *testing.T, object []byte) *subject {
	t.Helper()
	r, err := parseReview([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":` + string(object) + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &r.Request.Object
}
