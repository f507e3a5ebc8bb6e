package diagnose

import (
	"fmt"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Suspect is a workload that may be the finalizer's controller, but only its right to
// write the object points to it.
type Suspect struct {
	Workload
	// role gives it the right; named is set if one of its containers has the name under
	// which the finalizer was set.
	role  string
	named bool
}

func (s Suspect) String() string {
	text := Name(s.Ref) + " may write it (" + text.Excerpt(s.role) + ")"
	if s.named {
		text += ", and has a container with the name under which the finalizer was set"
	}
	return text
}

// suspects returns the workloads that may write the object, the likelier ones first.
func (r *Run) suspects(u *unstructured.Unstructured, finalizer string) []Suspect {
	writers := r.writers(u)
	workloads, _ := r.Workloads()
	var found []Suspect
	for _, w := range workloads {
		i := slices.IndexFunc(writers, func(a account) bool { return a.namespace == w.Ref.Namespace && a.name == w.Account })
		if i < 0 {
			continue
		}
		found = append(found, Suspect{w, writers[i].role, slices.ContainsFunc(Setters(u, finalizer), func(o managedfields.Owner) bool {
			return generic(o.Manager) && w.Called(o.Manager)
		})})
	}
	slices.SortStableFunc(found, func(a, b Suspect) int { return -compareBool(a.named, b.named) })
	return found
}

// writers returns the service accounts that may write objects of the kind by any rule,
// including those that may do everything.
func (r *Run) writers(u *unstructured.Unstructured) []account {
	kind := u.GroupVersionKind().GroupKind()
	served, _ := r.Kinds()
	i := slices.IndexFunc(served, func(k object.Kind) bool { return k.GVK.GroupKind() == kind })
	if i < 0 {
		return nil
	}
	resource, namespace := served[i].Resource, u.GetNamespace()
	made := Once(r, fmt.Sprintf("writers %s %s", kind, namespace), func() result[account] {
		return r.readAccounts(func(rule rbacv1.PolicyRule) right {
			if !writes(rule) || !has(rule.APIGroups, kind.Group, "*") || !has(rule.Resources, resource, "*") {
				return none
			}
			return mayUpdate
		}, func(bound string) bool { return bound == namespace })
	})
	return made.items
}

// alive returns a sign of life: the setter of the finalizer has written to the
// object since its deletion was requested. Interactive tools give none.
func (r *Run) alive(u *unstructured.Unstructured, finalizer string) string {
	entries, err := managedfields.Entries(u)
	if err != nil {
		return ""
	}
	for _, o := range Setters(u, finalizer) {
		for _, e := range entries {
			if e.Manager == o.Manager && !tool(o.Manager) && e.Time.After(Since(u).Add(time.Second)) {
				return text.Excerpt(e.String()) + " last wrote to it " + Ago(r.Now.Sub(e.Time)) + " ago, after its deletion was requested"
			}
		}
	}
	return ""
}
