package predict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Edge case 15: a mutating webhook's change is recorded under the sender's name. Edge case 11:
// another spelling is not a change.
func TestRewritten(t *testing.T) {
	held := fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:mode: {}, f:cpu: {}, f:wait: {}, f:count: {}, f:list: {}, f:gone: {}}}`)
	tests := map[string]struct {
		sent, answered string
		want           []string
	}{
		"as sent":                              {`{mode: mine, count: 3}`, `{mode: mine, count: 3}`, nil},
		"another value":                        {`{mode: mine}`, `{mode: enforced}`, []string{".spec.mode"}},
		"another number":                       {`{count: 3}`, `{count: 5}`, []string{".spec.count"}},
		"a quantity":                           {`{cpu: 1000m}`, `{cpu: "1"}`, nil},
		"a whole number":                       {`{cpu: 1}`, `{cpu: "1"}`, nil},
		"a fraction":                           {`{cpu: 0.5}`, `{cpu: 500m}`, nil},
		"a number, changed":                    {`{cpu: 1}`, `{cpu: "2"}`, []string{".spec.cpu"}},
		"another quantity":                     {`{cpu: 1000m}`, `{cpu: "2"}`, []string{".spec.cpu"}},
		"a duration":                           {`{wait: 60s}`, `{wait: 1m0s}`, nil},
		"base64 in lines":                      {`{mode: "YWFh\nYWFh\n"}`, `{mode: YWFhYWFh}`, nil},
		"base64 in lines, changed":             {`{mode: "YWFh\nYWFh\n"}`, `{mode: YWFhYWFi}`, []string{".spec.mode"}},
		"default in an item of an atomic list": {`{list: [{a: x}]}`, `{list: [{a: x, b: y}]}`, nil},
		"item of an atomic list, changed":      {`{list: [a, b]}`, `{list: [a, c]}`, []string{".spec.list"}},
		"item of an atomic list, removed":      {`{list: [a, b]}`, `{list: [a]}`, []string{".spec.list"}},
		"item behind an atomic list's":         {`{list: [a]}`, `{list: [a, b]}`, nil},
		"a quantity in an atomic list":         {`{list: [{a: 1000m, b: ""}]}`, `{list: [{a: "1", c: x}]}`, nil},
		"zero, changed":                        {`{count: 0}`, `{count: 5}`, []string{".spec.count"}},
		"dropped by the server":                {`{gone: x}`, `{}`, []string{".spec.gone"}},
		"zero, dropped by the server":          {`{gone: ""}`, `{}`, nil},
		"the server's default":                 {`{}`, `{mode: default}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			head := "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n"
			answer := fieldstest.Read(t, head+"  managedFields:\n  - "+held+"\nspec: "+tt.answered)
			changes, err := predict.Rewritten(answer, fieldstest.Read(t, head+"spec: "+tt.sent), fieldstest.Us)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				got = append(got, c.Path.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
