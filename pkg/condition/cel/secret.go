package cel

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsComposite reports whether a value is a map or a list.
func IsComposite(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// IsSecret reports whether the values of a kind are never shown.
func IsSecret(gvk schema.GroupVersionKind) bool { return redact.IsSecret(object.Ref{GVK: gvk}) }

// Masked returns a Secret without its values.
func Masked(obj map[string]any) map[string]any {
	secret := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}
	out, _ := redact.Pair(secret, obj, nil)
	return out
}
