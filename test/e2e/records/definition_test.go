package records_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

func recordsOf() schema.GroupVersionResource {
	return ownership.RecordGVK().GroupVersion().WithResource(ownership.RecordPlural)
}

// largest returns the largest record that Add allows.
func largest() *ownership.Record {
	o := ownership.Object{
		APIVersion: strings.Repeat("g", 253) + "/v1", Kind: strings.Repeat("K", 63),
		Namespace: release, Name: strings.Repeat("n", 253), UID: "0000-1111",
	}
	r := ownership.NewRecord(o, release)
	owners := func(first int) (out []managedfields.Owner) {
		for n := range 20 {
			out = append(out, managedfields.Owner{
				Manager: strings.Repeat("m", 125) + fmt.Sprint(first+n), Operation: managedfields.Update,
				Subresource: strings.Repeat("s", 63), APIVersion: o.APIVersion,
			})
		}
		return out
	}
	version := 1_000_000_000_000
	for entry := range 70 {
		for n := range 10 {
			version++
			tr := ownership.Transition{
				Path: fieldpath.Field("data", fmt.Sprint(entry)+strings.Repeat("ü", 400)), Kind: ownership.Taken,
				Before: owners(100 + n%2), After: owners(100 + 1 - n%2), Forced: true,
				Values: ownership.ValueChange{From: strings.Repeat("i", 256), To: strings.Repeat("j", 256)},
			}
			if entry%2 == 1 {
				tr.Kind = ownership.Released
			}
			r.Add(tr, ownership.Occasion{
				ResourceVersion: fmt.Sprint(version), Time: time.Unix(1_700_000_000+int64(version%1000), 5),
				User: strings.Repeat("ü", 300), Gap: true,
			})
		}
	}
	r.Lost = 7
	return r
}

// The definition and the Go type agree: the API server accepts the largest possible record with
// strict validation, and returns it unchanged. It is small enough (edge case 81).
func TestRoundTrip(t *testing.T) {
	l := newLab(t)
	want := largest()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the largest record has %s bytes", resource.NewQuantity(int64(len(text)), resource.BinarySI))
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetName("largest")
	u.SetOwnerReferences(nil) // must not be garbage-collected
	strict := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	if _, err := l.Resource(recordsOf()).Namespace(release).Create(t.Context(), u, strict); err != nil {
		t.Fatal(err)
	}
	got, err := l.store.Get(t.Context(), release, "largest")
	if err != nil {
		t.Fatal(err)
	}
	if want.Dropped == 0 || len(text) < 64<<10 || len(text) > 132<<10 || !want.Entries[0].Cut || want.Entries[0].Count != 10 {
		t.Errorf("the record does not reach all limits")
	}
	got.ObjectMeta, want.ObjectMeta = metav1.ObjectMeta{}, metav1.ObjectMeta{}
	got.TypeMeta, want.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{} // a typed client drops it
	if diff := cmp.Diff(jsonOf(t, want), jsonOf(t, got)); diff != "" {
		t.Errorf("record (-sent +stored):\n%s", diff)
	}
}

// Records without content, or with more than the limits, are refused.
func TestValidation(t *testing.T) {
	l := newLab(t)
	entry := `"from": [], "to": [], "first": "2026-11-21T12:00:00Z", "last": "2026-11-21T12:00:00Z"`
	object := `"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}`
	tests := map[string]struct {
		text string
		ok   bool
	}{
		"without object":              {text: `{}`},
		"empty":                       {text: `{` + object + `}`, ok: true},
		"small":                       {text: `{` + object + `, "transitions": [{"path": ".a", "kind": "taken", "count": 1, ` + entry + `}]}`, ok: true},
		"kind that is never recorded": {text: `{` + object + `, "transitions": [{"path": ".a", "kind": "shared", "count": 1, ` + entry + `}]}`},
		"count of zero":               {text: `{` + object + `, "transitions": [{"path": ".a", "kind": "taken", "count": 0, ` + entry + `}]}`},
		"unknown field":               {text: `{` + object + `, "value": 3}`},
		"too many transitions": {text: `{` + object + `, "transitions": [` +
			strings.Repeat(`{"path": ".a", "kind": "taken", "count": 1, `+entry+`},`, 64) + `{"path": ".a", "kind": "taken", "count": 1, ` + entry + `}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			if err := json.Unmarshal([]byte(tt.text), &u.Object); err != nil {
				t.Fatal(err)
			}
			u.SetGroupVersionKind(ownership.RecordGVK())
			u.SetGenerateName("validation-")
			_, err := l.Resource(recordsOf()).Namespace(release).Create(t.Context(), u, metav1.CreateOptions{
				FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll},
			})
			if (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

func jsonOf(t *testing.T, r *ownership.Record) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
