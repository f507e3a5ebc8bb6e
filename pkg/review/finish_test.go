package review

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// An apply that adopts moves the fields of other managers before it sends the manifest. A run that was cut
// between these steps can be finished, and nothing else passes as such a run.
func TestIsAdopted(t *testing.T) {
	helm := managedfields.Owner{Manager: "helm", Operation: managedfields.Update}
	kubectl := managedfields.Owner{Manager: "kubectl-client-side-apply", Operation: managedfields.Update}
	outcome := func(change func(*event.Compared)) Outcome {
		c := event.Compared{
			Ref: refTo("ConfigMap", "a"), Action: event.Share, UID: "1", Adopted: []string{"helm", "kubectl-client-side-apply"},
			Ownership: []event.OwnerChange{
				{Becomes: event.BecomesTaken, Owners: []managedfields.Owner{helm}, Paths: []string{".data.h"}},
				{Becomes: event.BecomesTaken, Owners: []managedfields.Owner{kubectl}, Paths: []string{".data.k", ".data.l"}},
			},
		}
		change(&c)
		return planOf(c).Outcomes()[c.Ref.Key()]
	}
	for name, tt := range map[string]struct {
		now  func(*event.Compared)
		want bool
	}{
		"one of two managers": {func(c *event.Compared) { c.Adopted, c.Ownership = c.Adopted[1:], c.Ownership[1:] }, true},
		"all managers":        {func(c *event.Compared) { c.Adopted, c.Ownership = nil, nil }, true},
		"a part of the fields of a manager": {func(c *event.Compared) {
			c.Adopted, c.Ownership = c.Adopted[1:], []event.OwnerChange{{Becomes: event.BecomesTaken, Owners: []managedfields.Owner{kubectl}, Paths: []string{".data.l"}}}
		}, true},
		"another manager":    {func(c *event.Compared) { c.Adopted = []string{"argocd"} }, false},
		"another path":       {func(c *event.Compared) { c.Ownership[0].Paths = []string{".data.x"} }, false},
		"from another owner": {func(c *event.Compared) { c.Ownership[0].Owners = []managedfields.Owner{kubectl} }, false},
		"another object":     {func(c *event.Compared) { c.UID = "2" }, false},
	} {
		if got := outcome(func(*event.Compared) {}).isAdopted(outcome(tt.now)); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if none := outcome(func(c *event.Compared) { c.Adopted = nil }); none.isAdopted(outcome(func(c *event.Compared) { c.Adopted, c.Ownership = nil, nil })) {
		t.Error("a plan without adoption")
	}
}
