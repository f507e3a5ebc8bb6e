package transport

import (
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// The webhook adds a line that names the object of the API server's warnings. That line is dropped,
// unless the API server sent no warning.
func TestWebhookRepeatsServerWarning(t *testing.T) {
	const ours = "Service/shop/web: deprecated, as the API server warns: .spec.externalIPs"
	for name, texts := range map[string][]string{
		"server warning first": {`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`, ours},
		"webhook warning only": {ours},
	} {
		var reported []string
		w := NewWarnings(&sync.Mutex{}, func(_ object.Ref, text string) { reported = append(reported, text) })
		ctx := withAttempt(t.Context(), &attempt{about: []object.Ref{{
			GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, Namespace: "shop", Name: "web",
		}}})
		for _, text := range texts {
			w.HandleWarningHeaderWithContext(ctx, miscWarning, "", text)
		}
		if len(reported) != 1 {
			t.Errorf("%s: %q", name, reported)
		}
	}
}

func TestWebhookWarningOfClusterScopedObject(t *testing.T) {
	ref := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: "prod"}
	if rest, ours := withoutName(ref, "Namespace/-/prod: .metadata.labels.a taken from x by m"); !ours || !isTakeover(rest) {
		t.Errorf("%q, %t", rest, ours)
	}
}
