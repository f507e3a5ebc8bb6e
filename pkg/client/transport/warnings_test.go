package transport

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/warningtext"
)

// The webhook adds a line that names the object of the API server's warnings. That line is dropped,
// unless the API server sent no warning.
func TestWebhookRepeatsServerWarning(t *testing.T) {
	ours := warningtext.About(warningtext.Name("Service", "shop", "web"), warningtext.Repeated()+".spec.externalIPs")
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

// The webhook's line about one field may end with the fields about which the API server warns. That
// end is dropped, too.
func TestWebhookAlsoRepeatsServerWarning(t *testing.T) {
	ref := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, Namespace: "shop", Name: "web"}
	const server, field = "spec.externalIPs is deprecated and may no longer be implemented", ".spec.loadBalancerIP is deprecated since 1.24"
	ours := warningtext.About(warningtext.Name("Service", "shop", "web"), warningtext.AndRepeated(field, ".spec.externalIPs"))
	var reported []string
	w := NewWarnings(&sync.Mutex{}, func(_ object.Ref, text string) { reported = append(reported, text) })
	ctx := withAttempt(t.Context(), &attempt{about: []object.Ref{ref}})
	for range 2 { // a dry run, and the write
		w.HandleWarningHeaderWithContext(ctx, miscWarning, "", server)
		w.HandleWarningHeaderWithContext(ctx, miscWarning, "", ours)
	}
	if want := []string{server, field}; !slices.Equal(reported, want) {
		t.Errorf("got %q, want %q", reported, want)
	}
}

// The plugin recognizes each warning that the webhook writes about takeovers, however long the names
// are and whether or not there is a namespace, and no other warning.
func TestWebhookWarningsAreRecognized(t *testing.T) {
	long := strings.Repeat("x", 250)
	for _, ref := range []object.Ref{
		{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: "prod"},
		{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, Namespace: "shop", Name: "web"},
		{GVK: schema.GroupVersionKind{Version: "v1", Kind: "K" + long}, Namespace: long, Name: long},
	} {
		name := warningtext.Name(ref.GVK.Kind, ref.Namespace, ref.Name)
		for what, want := range map[string]bool{
			".spec.a" + warningtext.Taken("flux", "you"): true, warningtext.MoreTaken(7): true,
			warningtext.Repeated() + ".spec.a": false, "+7 more deprecated fields": false,
		} {
			if rest, ours := withoutName(ref, warningtext.About(name, what)); !ours || warningtext.IsTakeover(rest) != want {
				t.Errorf("%s: %q, %t", name, rest, ours)
			}
		}
	}
}
