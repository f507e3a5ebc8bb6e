package redact_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

const password = "correct-horse"

// A server rejects a Secret whose data is not a map of strings, and quotes the data in the error
// (edge case 41).
func TestErrorOfMalformedSecrets(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"string instead of a map": {"data": password},
		"a list":                  {"data": []any{password}},
		"map as a value":          {"stringData": map[string]any{"a": map[string]any{"b": password}}},
		"list as a value":         {"stringData": map[string]any{"a": []any{password}}},
	} {
		t.Run(name, func(t *testing.T) {
			fields["apiVersion"], fields["kind"] = "v1", "Secret"
			err := errors.New(".data: expected map, got &{" + password + "}")
			got := redact.Error(&unstructured.Unstructured{Object: fields}, err).Error()
			if strings.Contains(got, password) || !strings.Contains(got, redact.Mask) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// An error about several objects is masked like the error about one.
func TestErrorOfSeveralObjects(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"a": password},
	}}
	got := ofMany(redact.Error(u, &hinted{errors.New("denied: " + password), ""})).Error()
	if strings.Contains(got, password) || !strings.Contains(got, "7 objects: denied") {
		t.Errorf("got %q", got)
	}
}

func TestRefusal(t *testing.T) {
	err := apierrors.NewInternalError(errors.New("expected map, got " + password))
	secret := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Name: "a"}
	got := redact.Refusal(secret, err)
	if strings.Contains(got.Error(), password) || errors.Unwrap(got) != nil {
		t.Errorf("got %q, which wraps %v", got, errors.Unwrap(got))
	}
	if want := "the server returned 500 InternalError"; got.Error() != want {
		t.Errorf("got %q, want %q", got, want)
	}
	absent := apierrors.NewNotFound(schema.GroupResource{Resource: password}, password)
	if got, want := redact.Refusal(secret, absent).Error(), `secrets "a" not found`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	lost := errors.New("connection refused")
	if got := redact.Refusal(secret, lost); got != lost { //nolint:errorlint // the same error
		t.Errorf("got %v for an error without an answer, want it unchanged", got)
	}
	other := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "a"}
	if got := redact.Refusal(other, err); got != error(err) { //nolint:errorlint // the same error
		t.Errorf("got %v for a ConfigMap, want it unchanged", got)
	}
}
