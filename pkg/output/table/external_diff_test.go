package table

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestFileName(t *testing.T) {
	long := strings.Repeat("x", 253)
	tests := map[string]struct{ group, namespace, name, want string }{
		"as kubectl names it": {"apps", "prod", "web", "apps.v1.Kind.prod.web"},
		"no namespace":        {"", "", "prod", "v1.Kind..prod"},
		"colons":              {"", "", "system:node", "v1.Kind..system%3Anode"},
		"path traversal":      {"", "", "../../etc/passwd", "v1.Kind....%2F..%2Fetc%2Fpasswd"},
		"too long":            {"", "", long, "v1.Kind.." + long[:200-len("v1.Kind..")] + "-02f2723b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ref := object.Ref{Namespace: tt.namespace, Name: tt.name}
			ref.GVK = schema.GroupVersionKind{Group: tt.group, Version: "v1", Kind: "Kind"}
			if got := fileName(ref); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
