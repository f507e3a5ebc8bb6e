package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// The scope lists a kind as tracked if the kind was listed at least once. Refused and excluded
// kinds are listed as such.
func TestScope(t *testing.T) {
	b := newState(grace)
	add := func(group, plural, name string, refused bool, listed bool) {
		w := b.add(kind{resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}, name: name}, position{})
		w.refused = refused
		if listed {
			b.afresh(w, noon)
			b.listed(w, "7", noon)
		}
	}
	add("", "configmaps", "ConfigMap", false, true)
	add("apps", "deployments", "Deployment", true, true) // permitted once
	add("example.com", "birds", "Bird", true, false)
	add("example.com", "fish", "Fish", false, false) // not listed yet
	tracker := &Tracker{state: b}
	tracker.opts.ExcludeNamespaces = []string{"release", "kube-system"}
	tracker.opts.ExcludeKinds = append(leftOut(), schema.GroupKind{Kind: "Secret"}, leftOut()[0])
	want := ownership.Scope{
		Kinds:   map[string]time.Time{"ConfigMap": {}, "Deployment.apps": {}},
		Refused: []string{"Bird.example.com", "Deployment.apps"},
		Never: []string{
			"EndpointSlice.discovery.k8s.io", "Endpoints", "Event", "Event.events.k8s.io", "Lease.coordination.k8s.io",
			"LeaseCandidate.coordination.k8s.io", "OwnershipRecord.ownership.k8sconnect.io",
		},
		ExcludedKinds: []string{"Secret"}, ExcludedNamespaces: []string{"kube-system", "release"},
	}
	if diff := cmp.Diff(want, tracker.scope()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
