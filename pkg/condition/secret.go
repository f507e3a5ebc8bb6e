package condition

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

func isSecret(kind schema.GroupVersionKind) bool {
	return redact.IsSecret(object.Ref{GVK: kind})
}

// masked returns a Secret without its values.
func masked(obj map[string]any) map[string]any {
	secret := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}
	out, _ := redact.Pair(secret, obj, nil)
	return out
}
