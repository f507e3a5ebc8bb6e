package transport

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestWebhookNamesWhatIsInNoNamespace(t *testing.T) {
	ref := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: "prod"}
	if rest, ours := withoutName(ref, "Namespace/-/prod: .metadata.labels.a taken from x by m"); !ours || !isTakeover(rest) {
		t.Errorf("%q, %t", rest, ours)
	}
}
