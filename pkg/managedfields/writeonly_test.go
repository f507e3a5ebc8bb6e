package managedfields_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Edge case 12: stringData in an entry is read as data, where the server stores the values. A path
// whose value is no longer in the object has no owner.
func TestStringData(t *testing.T) {
	const secret = `{apiVersion: v1, kind: Secret, metadata: {name: a, managedFields: [
		{manager: helm, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {}}]}, data: {a: eA==, b: eA==}}`
	tests := map[string]struct {
		fields          string
		kind            string
		want, writeOnly []string
	}{
		"stringData":      {fields: `{"f:stringData": {"f:a": {}}, "f:type": {}}`, want: []string{".type", ".data.a"}, writeOnly: []string{".data.a"}},
		"data":            {fields: `{"f:data": {"f:a": {}}}`, want: []string{".data.a"}},
		"both":            {fields: `{"f:data": {"f:a": {}}, "f:stringData": {"f:a": {}, "f:b": {}}}`, want: []string{".data.a", ".data.b"}, writeOnly: []string{".data.b"}},
		"absent":          {fields: `{"f:stringData": {"f:a": {}, "f:gone": {}}}`, want: []string{".data.a"}, writeOnly: []string{".data.a"}},
		"an empty map":    {fields: `{"f:stringData": {}}`, want: []string{".data"}, writeOnly: []string{".data"}},
		"of another kind": {fields: `{"f:stringData": {"f:a": {}}}`, kind: "example.com/v1", want: []string{".stringData.a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := fieldstest.Read(t, secret)
			fields := u.GetManagedFields()
			fields[0].FieldsV1.SetRawString(tt.fields)
			if tt.kind != "" {
				fields[0].APIVersion = tt.kind
				u.SetAPIVersion(tt.kind)
			}
			u.SetManagedFields(fields)
			entries, err := managedfields.Entries(u)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, pathsOf(entries[0].Fields)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.writeOnly, pathsOf(entries[0].WriteOnly)); diff != "" {
				t.Errorf("write-only (-want +got):\n%s", diff)
			}
			if entries, err = managedfields.EntriesOf(fields); err != nil {
				t.Fatal(err)
			}
			if name != "absent" && !cmp.Equal(tt.want, pathsOf(entries[0].Fields)) {
				t.Errorf("typed: %v", pathsOf(entries[0].Fields))
			}
		})
	}
}

func pathsOf(set *fieldpath.Set) []string {
	var out []string
	if set != nil {
		fieldpath.Each(set, func(p fieldpath.Path) { out = append(out, p.String()) })
	}
	return out
}
