package managedfields_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func TestSharingOf(t *testing.T) {
	object := func(entries ...string) string {
		text := "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n"
		if len(entries) > 0 {
			text += "  managedFields:\n"
		}
		for _, e := range entries {
			text += "  - " + e + "\n"
		}
		return text + "data: {a: x, b: x, c: x}\n"
	}
	helm := fieldstest.Entry("helm", "Apply", `{f:data: {f:a: {}, f:b: {}}}`)
	flux := fieldstest.Entry("flux", "Update", `{f:data: {f:a: {}}}`)
	tests := map[string]struct{ live, answer, want string }{
		"all fields of another": {
			object(helm), object(helm, fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}, f:b: {}}}`)), "shared with helm: 2 fields",
		},
		"shared with two managers, and one field without an owner": {
			object(helm, flux), object(helm, flux, fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}, f:c: {}}}`)),
			"shared with flux: 1 field, shared with helm: 1 field, now owned: 1 field",
		},
		"no longer owned": {
			object(helm, fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}, f:b: {}}}`)), object(helm, fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)),
			"no longer owned: 1 field",
		},
		"no managed fields before": {
			object(), object(fieldstest.Entry("before-first-apply", "Update", `{f:data: {f:a: {}}}`), fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)),
			"shared with before-first-apply: 1 field",
		},
		"not comparable": {object(helm), object(helm), "ownership rewritten"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := managedfields.SharingOf(fieldstest.Read(t, tt.live), fieldstest.Read(t, tt.answer), fieldstest.Us)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
