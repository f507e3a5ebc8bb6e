package unready

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Objects share a root if they have the same cause, however many Pods it affects and however many other
// causes they have. A doubt, a passing cause and a consequence are roots only if there is no other cause.
func TestRoots(t *testing.T) {
	web := func(name string, causes ...event.Cause) Explained {
		return Explained{diagnose.RefOf("apps/v1", "Deployment", "shop", name), causes}
	}
	node := diagnose.RefOf("v1", "Node", "", "n1")
	doubt := event.Cause{Code: "NotAllowed", Message: "unknown", Doubt: true}
	passing := event.Cause{Code: "Starting", Message: "starts", Passing: true}
	own := diagnose.RefOf("apps/v1", "Deployment", "shop", "paused-1")
	quota := func(set string) event.Cause {
		return event.Cause{Code: "QuotaExceeded", Message: "Pods of replicaset.apps/" + set + " -n shop are refused: q is used up", BlockedBy: diagnose.RefOf("v1", "ResourceQuota", "shop", "q")}
	}
	follows := event.Cause{Code: "ProgressDeadlineExceeded", Message: "late", Follows: true}
	got := Roots([]Explained{
		web("a", event.Cause{Code: "Unschedulable", Message: "3 Pods: fits none", Evidence: []string{"disktype=ssd", "Pods: pod/a-1, pod/a-2"}}),
		web("b", passing, doubt, event.Cause{Code: "Unschedulable", Message: "pod/b-1 -n shop: fits none"}, event.Cause{Code: "Later", Message: "x"}),
		web("c", event.Cause{Code: "NodeNotReady", Message: "node n1, 1", BlockedBy: node}),
		web("d", event.Cause{Code: "NodeNotReady", Message: "node n1, 2", BlockedBy: node}),
		web("e", doubt, passing),
		web("f"),
		web("gpu", quota("web-1"), event.Cause{Code: "Unschedulable", Message: "2 Pods: fits none"}, follows),
		web("many", quota("many-1"), follows),
		web("late", follows),
		web("paused-1", event.Cause{Code: "Paused", Message: "paused-1 is paused", BlockedBy: own}),
		web("g", event.Cause{Code: "Unschedulable", Message: "2 Pods: fits another"}),
	})
	type root struct {
		Code, Message string
		Evidence      []string
		Holds         []string
	}
	var roots []root
	for _, r := range got {
		one := root{Code: r.Cause.Code, Message: r.Cause.Message, Evidence: r.Cause.Evidence}
		for _, ref := range r.Holds {
			one.Holds = append(one.Holds, ref.Name)
		}
		roots = append(roots, one)
	}
	want := []root{
		{"Unschedulable", "fits none", []string{"disktype=ssd"}, []string{"a", "b", "gpu"}},
		{"NodeNotReady", "node n1, 1", nil, []string{"c", "d"}},
		{"QuotaExceeded", "Pods are refused: q is used up", nil, []string{"gpu", "many"}},
		{"Later", "x", nil, []string{"b"}},
		{"NotAllowed", "unknown", nil, []string{"e"}},
		{"Paused", "paused-1 is paused", nil, []string{"paused-1"}},
		{"ProgressDeadlineExceeded", "late", nil, []string{"late"}},
		{"Unschedulable", "2 Pods: fits another", nil, []string{"g"}},
	}
	if diff := cmp.Diff(want, roots); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if object.Ref(own) != got[5].Holds[0] {
		t.Error(got[5].Holds)
	}
}
