package admission

import (
	"encoding/json"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// chatty is a Deprecations with a notice for everything.
type chatty struct{ text string }

func (c chatty) Notice(schema.GroupVersionKind) (string, bool) { return c.text, true }

func (c chatty) Fields(_, now *unstructured.Unstructured) []deprecation.FieldNotice {
	return []deprecation.FieldNotice{{Path: now.GetName() + c.text}, {Path: "." + c.text, ServerWarns: true}}
}

func (chatty) Hint(ownership.Hint) bool { return false }

// handlers returns both handlers, with evaluators that always warn.
func handlers(tb testing.TB, text string) []*handler {
	owners, versions := newHandler(tb, nil), newHandler(tb, nil)
	owners.evaluate = takings{hints: chatty{}, deprecations: chatty{text}, count: owners.count}.evaluate
	versions.evaluate = notices{deprecations: chatty{text}}.evaluate
	return []*handler{owners, versions}
}

// For arbitrary bytes, the answer is an HTTP error, or allows the request with warnings that fit
// into a header. Nothing panics (edge cases 74 and 75).
func FuzzReview(f *testing.F) {
	f.Add([]byte(small), "old")
	for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect} {
		f.Add(reviewOf(f, admissionv1.AdmissionRequest{
			UID: "1", Operation: operation,
			Object:    runtime.RawExtension{Raw: []byte(thing("flux", "1"))},
			OldObject: runtime.RawExtension{Raw: []byte(thing("argo\n", "2"))},
		}), "old\n")
	}
	f.Fuzz(func(t *testing.T, body []byte, text string) {
		for _, a := range handlers(t, text) {
			checkAllowed(t, a, body)
		}
	})
}

// The fuzz test puts arbitrary managed fields and names into a well-formed review.
func FuzzFieldsV1(f *testing.F) {
	f.Add(`{"f:spec":{"f:replicas":{}}}`, `{}`, "flux", "argo", `{"replicas":1}`, `{"replicas":2}`)
	f.Add(`{"f:spec":{"k:{\"a\":1}":{".":{}}}}`, `[]`, "flux\n", "", `[{"a":1}]`, `null`)
	f.Fuzz(func(t *testing.T, before, after, from, to, was, is string) {
		one := `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","managedFields":[{"manager":` + quote(from) +
			`,"operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + before + `}]},"spec":` + was + `}`
		two := `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","managedFields":[{"manager":` + quote(to) +
			`,"operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + after + `}]},"spec":` + is + `}`
		body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE","object":` +
			two + `,"oldObject":` + one + `}}`
		for _, a := range handlers(t, "old") {
			checkAllowed(t, a, []byte(body))
		}
	})
}

func checkAllowed(t *testing.T, a *handler, body []byte) {
	t.Helper()
	status, answer := ask(t, a, body)
	if status != http.StatusOK && status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge {
		t.Fatalf("status %d", status)
	}
	if answer != nil {
		if !answer.Response.Allowed {
			t.Fatal("denied")
		}
		checkLines(t, answer.Response.Warnings)
	}
	if n := faults(t, a, faultPanic); n > 0 {
		t.Fatalf("panicked: %s", body)
	}
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}
