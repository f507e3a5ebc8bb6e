package admission

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// thing returns an object whose field a has the given owner.
func thing(manager, a string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","namespace":"n","uid":"id","resourceVersion":"7",
		"managedFields":[{"manager":%q,"operation":"Apply","apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:a":{}}}}]},
		"spec":{"a":%s}}`, manager, a)
}

func update(old, now string) admissionv1.AdmissionRequest {
	r := admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Update}
	r.Kind = metav1.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	r.UserInfo.Username = "system:serviceaccount:flux:flux"
	r.OldObject, r.Object = runtime.RawExtension{Raw: []byte(old)}, runtime.RawExtension{Raw: []byte(now)}
	return r
}

// sink receives hints as long as it has capacity.
type sink struct {
	limit int
	got   []ownership.Hint
}

func (s *sink) Hint(h ownership.Hint) bool {
	if len(s.got) >= s.limit {
		return false
	}
	s.got = append(s.got, h)
	return true
}

func TestTakings(t *testing.T) {
	const message = "Thing/n/x: .spec.a taken from argo by flux"
	dry := true
	dryRun := update(thing("argo", "1"), thing("flux", "2"))
	dryRun.DryRun = &dry
	deletion := update(thing("argo", "1"), "null")
	deletion.Operation = admissionv1.Delete
	connect := update("null", `{"apiVersion":"v1","kind":"PodExecOptions"}`)
	connect.Operation = admissionv1.Connect
	tests := map[string]struct {
		request  admissionv1.AdmissionRequest
		limit    int
		want     []string
		hints    int
		dropped  float64
		problems float64
	}{
		"taken":                           {update(thing("argo", "1"), thing("flux", "2")), 9, []string{message}, 1, 0, 0},
		"taken, no room for the hint":     {update(thing("argo", "1"), thing("flux", "2")), 0, []string{message}, 0, 1, 0},
		"taken in a dry run (77)":         {dryRun, 9, []string{message}, 0, 0, 0},
		"the same value":                  {update(thing("argo", "1"), thing("flux", "1")), 9, nil, 1, 0, 0},
		"the same owner":                  {update(thing("argo", "1"), thing("argo", "2")), 9, nil, 0, 0, 0},
		"a large number changed by one":   {update(thing("argo", "9007199254740993"), thing("flux", "9007199254740992")), 9, []string{message}, 1, 0, 0},
		"a deletion (76)":                 {deletion, 9, nil, 0, 0, 0},
		"a CONNECT request (76)":          {connect, 9, nil, 0, 0, 0},
		"null to null":                    {update("null", "null"), 9, nil, 0, 0, 0},
		"without managed fields (71)":     {update(`{"spec":{"replicas":1}}`, `{"spec":{"replicas":2}}`), 9, nil, 0, 0, 0},
		"managed fields are not a list":   {update(thing("argo", "1"), `{"metadata":{"managedFields":{}}}`), 9, nil, 0, 0, 1},
		"an object is a list":             {update(thing("argo", "1"), `[1]`), 9, nil, 0, 0, 1},
		"a field set that is not a map":   {update(thing("argo", "1"), `{"metadata":{"managedFields":[{"manager":"x","fieldsType":"FieldsV1","fieldsV1":[1]}]}}`), 9, nil, 0, 0, 1},
		"a field set with unknown keys":   {update(thing("argo", "1"), `{"metadata":{"managedFields":[{"manager":"x","fieldsType":"FieldsV1","fieldsV1":{"x:?":{}}}]}}`), 9, nil, 0, 0, 0},
		"all managed fields were cleared": {update(thing("argo", "1"), `{"metadata":{"managedFields":[{}]}}`), 9, nil, 0, 0, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			hints := &sink{limit: tt.limit}
			a := newHandler(t, nil)
			a.evaluate = takings{hints: hints, count: a.count}.evaluate
			_, answer := ask(t, a, reviewOf(t, tt.request))
			if diff := cmp.Diff(tt.want, answer.Response.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if len(hints.got) != tt.hints {
				t.Errorf("hints %+v", hints.got)
			}
			if got := testutil.ToFloat64(a.count.hintsDropped); got != tt.dropped {
				t.Errorf("%v hints dropped", got)
			}
			if got := testutil.ToFloat64(a.count.warnings.WithLabelValues("takeover")); got != float64(len(tt.want)) {
				t.Errorf("%v warnings counted", got)
			}
			if got := faults(t, a, faultObject); got != tt.problems {
				t.Errorf("%v objects not understood", got)
			}
		})
	}
}

// A hint contains everything that identifies the write, and also its user (edge case 73: any client
// can choose any manager).
func TestHint(t *testing.T) {
	hints := &sink{limit: 1}
	a := newHandler(t, nil)
	a.evaluate = takings{hints: hints, count: a.count}.evaluate
	ask(t, a, reviewOf(t, update(thing("argo", "1"), thing("flux", "2"))))
	if len(hints.got) != 1 {
		t.Fatalf("hints %+v", hints.got)
	}
	h := hints.got[0]
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON([]byte(thing("flux", "2"))); err != nil {
		t.Fatal(err)
	}
	if !h.Owners.Equal(ownership.Compact(u.GetManagedFields())) || h.Time.IsZero() {
		t.Errorf("hint %+v", h)
	}
	if h.UID != "id" || h.ResourceVersion != "7" || h.User != "system:serviceaccount:flux:flux" || h.Request != "u" {
		t.Errorf("hint %+v", h)
	}
}

// If values are recorded, a hint contains the values that a record may keep. It never contains
// values of a Secret.
func TestValuesInHint(t *testing.T) {
	deployment := func(manager, replicas string) string {
		return fmt.Sprintf(`{"metadata":{"name":"x","uid":"id","resourceVersion":"7","managedFields":[{"manager":%q,"operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1",
			"fieldsV1":{"f:spec":{"f:replicas":{},"f:minReadySeconds":{}}}}]},"spec":{"replicas":%s,"minReadySeconds":%[2]s}}`, manager, replicas)
	}
	of := func(group, kind, subresource string, raw ...string) admissionv1.AdmissionRequest {
		r := update(raw[0], raw[1])
		r.Kind, r.SubResource = metav1.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, subresource
		return r
	}
	changed := map[string]ownership.ValueChange{".spec.replicas": {From: "3", To: "5"}}
	const scale = `{"metadata":{"uid":"id","resourceVersion":"7"},"spec":{"replicas":%d}}`
	for name, tt := range map[string]struct {
		request admissionv1.AdmissionRequest
		off     bool
		want    map[string]ownership.ValueChange
	}{
		"taken":                         {of("apps", "Deployment", "", deployment("argo", "3"), deployment("flux", "5")), false, changed},
		"scaled":                        {of("autoscaling", "Scale", "scale", fmt.Sprintf(scale, 3), fmt.Sprintf(scale, 5)), false, changed},
		"the same value":                {of("apps", "Deployment", "", deployment("argo", "3"), deployment("flux", "3")), false, nil},
		"a Secret":                      {of("", "Secret", "", deployment("argo", "3"), deployment("flux", "5")), false, nil},
		"a custom kind":                 {of("example.com", "Deployment", "", deployment("argo", "3"), deployment("flux", "5")), false, nil},
		"taken, with values off":        {of("apps", "Deployment", "", deployment("argo", "3"), deployment("flux", "5")), true, nil},
		"scaled, with values off":       {of("autoscaling", "Scale", "scale", fmt.Sprintf(scale, 3), fmt.Sprintf(scale, 5)), true, nil},
		"scaled, with a malformed spec": {of("autoscaling", "Scale", "scale", `{"metadata":{"uid":"id"},"spec":[]}`, `{"metadata":{"uid":"id"},"spec":{"replicas":"secret"}}`), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			hints := &sink{limit: 1}
			a := newHandler(t, nil)
			a.evaluate = takings{hints: hints, count: a.count, values: !tt.off}.evaluate
			ask(t, a, reviewOf(t, tt.request))
			if len(hints.got) != 1 {
				t.Fatalf("hints %+v", hints.got)
			}
			if diff := cmp.Diff(tt.want, hints.got[0].Values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// The hint of a write by the verb give has the verdict given and the user, and the write causes no
// warning. A field whose value changes counts as taken all the same.
func TestHintForGive(t *testing.T) {
	for value, want := range map[string]ownership.Transition{"1": {Kind: ownership.Given}, "2": {Kind: ownership.Taken, Forced: true}} {
		hints := &sink{limit: 1}
		a := newHandler(t, nil)
		a.evaluate = takings{hints: hints, count: a.count}.evaluate
		r := update(thing("argo", "1"), thing("flux", value))
		r.Options = runtime.RawExtension{Raw: []byte(`{"kind":"PatchOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"k8sconnect-give"}`)}
		_, answer := ask(t, a, reviewOf(t, r))
		if len(hints.got) != 1 || hints.got[0].Verdicts != ownership.VerdictsOn([]ownership.Transition{want}) || hints.got[0].User == "" {
			t.Errorf("%s: hints %+v", want.Kind, hints.got)
		}
		if warned := len(answer.Response.Warnings) > 0; warned != (want.Kind == ownership.Taken) {
			t.Errorf("%s: warnings %q", want.Kind, answer.Response.Warnings)
		}
	}
}

// old is a Deprecations with notices for Things at v1 and for the field old.
type old struct{}

func (old) Notice(gvk schema.GroupVersionKind) (string, bool) {
	return gvk.GroupVersion().String() + " is deprecated; use v2", gvk.Version == "v1"
}

func (old) Fields(was, is *unstructured.Unstructured) []deprecation.FieldNotice {
	if _, had, _ := unstructured.NestedFieldNoCopy(contentOf(was), "spec", "old"); had {
		return nil
	}
	if _, has, _ := unstructured.NestedFieldNoCopy(is.Object, "spec", "old"); has {
		return []deprecation.FieldNotice{{Path: ".spec.old"}}
	}
	return nil
}

func contentOf(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	return u.Object
}

func TestNotices(t *testing.T) {
	write := func(operation admissionv1.Operation, requested, object string) admissionv1.AdmissionRequest {
		r := update("null", object)
		r.Operation = operation
		r.Kind = metav1.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Thing"}
		r.RequestKind = &metav1.GroupVersionKind{Group: "example.com", Version: requested, Kind: "Thing"}
		return r
	}
	const named = `{"metadata":{"name":"x","namespace":"n"},"spec":{"old":1}}`
	tests := map[string]struct {
		request admissionv1.AdmissionRequest
		want    []string
	}{
		"created at the old version": {
			write(admissionv1.Create, "v1", named),
			[]string{"Thing/n/x: example.com/v1 is deprecated; use v2", "Thing/n/x: .spec.old is deprecated"},
		},
		"created at the new version": {write(admissionv1.Create, "v2", named), []string{"Thing/n/x: .spec.old is deprecated"}},
		"created by a controller, so no warning about the field": {
			write(admissionv1.Create, "v2", `{"metadata":{"name":"x","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"1","controller":true}]},"spec":{"old":1}}`), nil,
		},
		"with a generated name (edge case 76)": {
			write(admissionv1.Create, "v1", `{"metadata":{"generateName":"x-","namespace":"n"}}`),
			[]string{"Thing/n/x-*: example.com/v1 is deprecated; use v2"},
		},
		"without a namespace": {
			write(admissionv1.Create, "v1", `{"metadata":{"name":"x"}}`),
			[]string{"Thing/-/x: example.com/v1 is deprecated; use v2"},
		},
		// The evaluator of owners warns about fields that an update adds.
		"updated":   {write(admissionv1.Update, "v1", named), []string{"Thing/n/x: example.com/v1 is deprecated; use v2"}},
		"deleted":   {write(admissionv1.Delete, "v1", "null"), nil},
		"connected": {write(admissionv1.Connect, "v1", named), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newHandler(t, notices{deprecations: old{}}.evaluate)
			_, answer := ask(t, a, reviewOf(t, tt.request))
			if diff := cmp.Diff(tt.want, answer.Response.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// An update warns only about deprecated fields that it adds.
func TestFieldsOfUpdates(t *testing.T) {
	with := func(fields, spec string) string {
		return `{"apiVersion":"v1","metadata":{"name":"x","managedFields":[{"manager":"a","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:spec":` +
			fields + `}}]},"spec":` + spec + `}`
	}
	tests := map[string]struct {
		old, now string
		want     []string
	}{
		"added":      {with(`{"f:a":{}}`, `{"a":1}`), with(`{"f:a":{},"f:old":{}}`, `{"a":1,"old":1}`), []string{"Thing/-/x: .spec.old is deprecated"}},
		"set before": {with(`{"f:old":{}}`, `{"old":1}`), with(`{"f:a":{},"f:old":{}}`, `{"a":1,"old":1}`), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newHandler(t, nil)
			a.evaluate = takings{deprecations: old{}, count: a.count}.evaluate
			_, answer := ask(t, a, reviewOf(t, update(tt.old, tt.now)))
			if diff := cmp.Diff(tt.want, answer.Response.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
