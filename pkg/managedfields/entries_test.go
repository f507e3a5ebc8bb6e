package managedfields_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func TestEntries(t *testing.T) {
	got := fieldstest.Entries(t, fieldstest.Read(t, fieldstest.WebLive))
	var texts []string
	for _, e := range got {
		texts = append(texts, e.String())
	}
	want := []string{
		"k8sconnect (Apply)", "kubectl (scale)", "kubectl-set (Update)", "injector (Update)", "kube-controller-manager (status)",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	if want := time.Date(2026, 11, 21, 2, 34, 57, 0, time.UTC); !got[0].Time.Equal(want) {
		t.Errorf("time is %v, want %v", got[0].Time, want)
	}
	// Edge case 8: an entry may lack a time.
	if !got[1].Time.IsZero() {
		t.Errorf("an entry without a time has %v", got[1].Time)
	}
}

// Edge case 17: an object may have no managed fields. Edge case 9: managed fields may have been
// reset.
func TestEntriesNone(t *testing.T) {
	for name, text := range map[string]string{
		"absent": `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}`,
		"empty":  `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, managedFields: []}}`,
		"reset":  `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, managedFields: [{}]}}`,
		"null":   `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, managedFields: null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := fieldstest.Entries(t, fieldstest.Read(t, text)); len(got) != 0 {
				t.Errorf("got %v", got)
			}
		})
	}
	if got, err := managedfields.Entries(nil); got != nil || err != nil {
		t.Errorf("no object: got %v, %v", got, err)
	}
}

func TestEntriesMalformed(t *testing.T) {
	for name, entry := range map[string]string{
		"type":      `{manager: eve, operation: Update, fieldsType: FieldsV2, fieldsV1: {}}`,
		"tree":      `{manager: eve, operation: Update, fieldsType: FieldsV1, fieldsV1: []}`,
		"leaf":      `{manager: eve, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:spec": 1}}`,
		"key":       `{manager: eve, operation: Update, fieldsType: FieldsV1, fieldsV1: {"k:{": {}}}`,
		"deep":      `{manager: eve, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:a": {"f:b": {"spec": {}}}}}`,
		"no entry":  `eve`,
		"no colons": `{manager: eve, operation: Update, fieldsType: FieldsV1, fieldsV1: {"spec": {}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := managedfields.Entries(fieldstest.Read(t, `{metadata: {managedFields: [`+entry+`]}}`))
			if err == nil {
				t.Fatal("no error")
			}
			if name != "no entry" && !strings.Contains(err.Error(), `manager "eve"`) {
				t.Errorf("the error does not name the manager: %v", err)
			}
		})
	}
}

func TestEntriesUnknownElement(t *testing.T) {
	got := fieldstest.Entries(t, fieldstest.Read(t, `{metadata: {managedFields: [{manager: a, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"x:new": {}, "f:a": {}}}]}}`))
	if diff := cmp.Diff(".a", got[0].Fields.String()); diff != "" {
		t.Error(diff)
	}
}

// Edge case 6: fields that a manager owns through updates or a subresource are not among the fields
// that it applied.
func TestManaged(t *testing.T) {
	live := fieldstest.Read(t, `
metadata:
  managedFields:
  - {manager: k8sconnect, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:a: {}}}}
  - {manager: k8sconnect, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:b: {}}}}
  - {manager: k8sconnect, operation: Apply, subresource: status, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:status: {f:c: {}}}}
`)
	all := fieldstest.Entries(t, live)
	if diff := cmp.Diff(".data.a", managedfields.Managed(all, fieldstest.Us).String()); diff != "" {
		t.Error(diff)
	}
	if got := managedfields.Managed(all, "nobody"); got == nil || !got.Empty() {
		t.Errorf("Managed() = %v for a manager without an entry, want an empty set", got)
	}
	e, ok := managedfields.AppliedBy(all, fieldstest.Us)
	if !ok || e.APIVersion != "v1" || e.Subresource != "" {
		t.Errorf("applied: %v, %v", e, ok)
	}
	if _, ok := managedfields.AppliedBy(all, "nobody"); ok {
		t.Error("AppliedBy() found an entry of a manager without one")
	}
	if got := managedfields.Others(all, fieldstest.Us); len(got) != 2 {
		t.Errorf("others: %v", got)
	}
}

// Edge case 10: a path may have several owners. All of them are returned, sorted.
func TestOwners(t *testing.T) {
	all := fieldstest.Entries(t, fieldstest.Read(t, `
metadata:
  managedFields:
  - {manager: zoe, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:a: {}}}}
  - {manager: amy, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {.: {}, f:a: {}}}}
  - {manager: bob, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:selector: {}}}}
  - {manager: cat, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:list: {'k:{"name":"x"}': {.: {}, f:name: {}}}}}}
`))
	tests := map[string]struct {
		path string
		want []string
	}{
		"shared":                 {`.data.a`, []string{"amy (Update)", "zoe (Apply)"}},
		"parent of many":         {`.data`, []string{"amy (Update)", "zoe (Apply)"}},
		"sibling of a member":    {`.data.b`, nil},
		"inside an atomic value": {`.spec.selector.matchLabels.x`, []string{"bob (Apply)"}},
		"list item":              {`.spec.list[name="x"]`, []string{"cat (Apply)"}},
		"field of an item":       {`.spec.list[name="x"].image`, nil},
		"another item":           {`.spec.list[name="y"]`, nil},
		"whole list":             {`.spec.list`, []string{"cat (Apply)"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			owners, err := managedfields.Owners(all, fieldstest.Path(t, tt.path))
			if diff := cmp.Diff(tt.want, fieldstest.OwnerTexts(owners)); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestSameOwners(t *testing.T) {
	live := fieldstest.Read(t, fieldstest.WebLive)
	if !managedfields.SameOwners(live, live.DeepCopy()) {
		t.Error("SameOwners() = false for a copy of the object")
	}
	touched := live.DeepCopy()
	fields := touched.GetManagedFields()
	fields[0].Time = nil
	fields[0], fields[1] = fields[1], fields[0]
	touched.SetManagedFields(fields)
	if !managedfields.SameOwners(live, touched) {
		t.Error("SameOwners() = false for entries with other times and order")
	}
	fields[0].Manager = "somebody"
	touched.SetManagedFields(fields)
	if managedfields.SameOwners(live, touched) {
		t.Error("SameOwners() = true although a manager differs")
	}
	if managedfields.SameOwners(live, fieldstest.Read(t, fieldstest.DnsLive)) {
		t.Error("SameOwners() = true for another object")
	}
}

func TestSameAppliedOfMalformedEntries(t *testing.T) {
	good := owned(t, "flux", `{"f:data":{"f:a":{}}}`)
	bad := owned(t, "flux", `{"f:data":{"k:{":{}}}`)
	if !managedfields.SameApplied(good, good, "flux") || managedfields.SameApplied(good, bad, "flux") || managedfields.SameApplied(bad, good, "flux") {
		t.Error("SameApplied must be true for the same entry, and false if an entry is malformed")
	}
}

func owned(t *testing.T, manager, fields string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := `{"metadata":{"managedFields":[{"manager":"` + manager + `","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + fields + `}]}}`
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}
