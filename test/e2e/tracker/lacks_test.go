package tracker_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/tracker"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// Edge case 85: a response without custom kinds, but with Kubernetes' own, does not remove them,
// however often it comes: each is requested individually.
func TestDiscoveryWithoutCustomKinds(t *testing.T) {
	w := newWorld(t, shared.Cluster(t))
	p := newPatient(t, w, "lacking")
	r := p.track(t, true, p.through)
	p.apply(t, "admin", definitions, "", widgets)
	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	version := func() string {
		stored, err := p.typed.CoreV1().ConfigMaps(p.own).Get(t.Context(), p.name, metav1.GetOptions{})
		if err != nil { // stored after a while
			return ""
		}
		var checkpoint tracker.Checkpoint
		fromJSON(t, stored.Data[tracker.CheckpointKey], &checkpoint)
		return checkpoint.Resources["widgets.example.com"].Version
	}
	eventually(t, "watched", func() bool { return version() != "" })
	p.apply(t, "argo", resource, p.work, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {k: 1}}`)

	all, err := p.typed.Discovery().RESTClient().Get().AbsPath("/apis").SetHeader("Accept", "application/json").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var groups metav1.APIGroupList
	fromJSON(t, string(all), &groups)
	kept := groups.Groups[:0]
	for _, g := range groups.Groups {
		if g.Name != "example.com" {
			kept = append(kept, g)
		}
	}
	groups.Groups, groups.Kind, groups.APIVersion = kept, "APIGroupList", "v1"
	body, err := json.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	p.Fail(-1, func(r *http.Request) bool { return r.URL.Path == "/apis" }, proxy.Fault{Status: http.StatusOK, Body: string(body)})
	p.apply(t, "admin", definitions, "", strings.NewReplacer("widget", "gadget", "Widget", "Gadget").Replace(widgets)) // discovers kinds
	eventually(t, "asked for itself", func() bool {
		return slices.ContainsFunc(p.Requests(), func(r proxy.Request) bool { return r.URI == "/apis/example.com/v1/widgets?limit=1" })
	})
	p.apply(t, "flux", resource, p.work, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {k: 2}}`)
	r.expect(t, "Widget/one: .spec.k lost by argo (Apply) to flux (Apply)")
	if version() == "" {
		t.Error("the watched kind was forgotten")
	}
}
