package stuck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// suspect is a workload that may be the finalizer's controller: it may write the
// object, and that is all that speaks for it.
type suspect struct {
	workload
	// role gives it the right; named: a container of it is called as whoever set the
	// finalizer calls himself.
	role  string
	named bool
}

func (s suspect) String() string {
	text := name(s.ref) + " may write it (" + quote(s.role) + ")"
	if s.named {
		text += ", and has a container of the name as which the finalizer was set"
	}
	return text
}

// suspects are the workloads that may write the object, the likelier ones first.
func (d *diagnosis) suspects(u *unstructured.Unstructured, finalizer string) []suspect {
	writers := d.writers(u)
	workloads, _ := d.workloads()
	var found []suspect
	for _, w := range workloads {
		i := slices.IndexFunc(writers, func(a account) bool { return a.namespace == w.ref.Namespace && a.name == w.account })
		if i < 0 {
			continue
		}
		found = append(found, suspect{w, writers[i].role, slices.ContainsFunc(owners(u, finalizer), func(o managedfields.Owner) bool {
			return generic(o.Manager) && w.called(o.Manager)
		})})
	}
	slices.SortStableFunc(found, func(a, b suspect) int { return -compareBool(a.named, b.named) })
	return found
}

// writers are the service accounts that may write objects of the kind, by whatever
// rule: those who may do everything, too.
func (d *diagnosis) writers(u *unstructured.Unstructured) []account {
	kind := u.GroupVersionKind().GroupKind()
	served, _ := d.kinds()
	i := slices.IndexFunc(served, func(k object.Kind) bool { return k.GVK.GroupKind() == kind })
	if i < 0 {
		return nil
	}
	resource, namespace := served[i].Resource, u.GetNamespace()
	r := once(d, fmt.Sprintf("writers %s %s", kind, namespace), func() result[account] {
		return d.readAccounts(func(rule rbacv1.PolicyRule) right {
			if !writes(rule) || !hasOrAll(rule.APIGroups, kind.Group) || !hasOrAll(rule.Resources, resource) {
				return none
			}
			return mayUpdate
		}, func(bound string) bool { return bound == namespace })
	})
	return r.items
}

func hasOrAll(values []string, value string) bool {
	return slices.Contains(values, value) || slices.Contains(values, "*")
}

// alive tells of a sign of life: who set the finalizer has written to the object
// since its deletion was asked for. Of people's tools, that tells nothing.
func (d *diagnosis) alive(u *unstructured.Unstructured, finalizer string) string {
	entries, err := managedfields.Entries(u)
	if err != nil {
		return ""
	}
	for _, o := range owners(u, finalizer) {
		for _, e := range entries {
			if e.Manager == o.Manager && !tool(o.Manager) && e.Time.After(since(u).Add(time.Second)) {
				return quote(e.String()) + " last wrote to it " + ago(d.now.Sub(e.Time)) + " ago, after its deletion was asked for"
			}
		}
	}
	return ""
}

// unproven: some workloads may be the finalizer's controller, and nothing tells
// which of them is.
func (d *diagnosis) unproven(u *unstructured.Unstructured, finalizer string, s search) finding {
	var all []string
	for _, one := range s.suspects {
		all = append(all, one.String())
	}
	first := s.suspects[0].ref
	return finding{rank: rankSilent, Cause: event.Cause{
		Code: FinalizerUnknown,
		Message: "it waits for whoever removes the finalizer " + quote(finalizer) + "; nothing tells who that is, and " +
			count(len(all), "workload") + " in the cluster may be it, or something outside",
		Evidence: append(append(d.set(u, finalizer), s.evidence...), some(all, 4)...),
		Next:     command.Kubectl("logs") + " " + on(first) + " --all-containers --since=1h | grep " + word(u.GetName()),
	}}
}

// elsewhere: whoever set the finalizer is alive, and his workload was not found.
func (d *diagnosis) elsewhere(u *unstructured.Unstructured, finalizer string, s search) finding {
	return finding{rank: rankSilent, Cause: event.Cause{
		Code: FinalizerUnknown,
		Message: "it waits for whoever set the finalizer " + quote(finalizer) + ", who is alive; no workload in this cluster is known to be his, " +
			"so he may run outside of it",
		Evidence: append(append(d.set(u, finalizer), s.alive), s.evidence...),
		Next:     "ask who knows the finalizer " + word(finalizer) + " where its controller runs",
	}}
}

// tool tells names of tools with which people write manifests; they remove no
// finalizers by themselves.
func tool(manager string) bool {
	switch manager {
	case "", "unknown", "before-first-apply", "helm", "k8sconnect", "Terraform", "pulumi-kubernetes", "node-fetch", "Mozilla", "curl":
		return true
	}
	return strings.HasPrefix(manager, "kubectl")
}

// generic tells what every other controller calls itself.
func generic(manager string) bool {
	switch manager {
	case "manager", "controller", "controller-manager", "operator", "main":
		return true
	}
	return false
}
