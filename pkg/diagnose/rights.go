package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type account struct {
	namespace, name string
	role            string
	right           right
}

// accounts returns the service accounts that have rights on kinds in the groups. An account that is
// allowed to do everything does not count.
func (r *Run) accounts(groups []string) ([]account, bool) {
	made := Once(r, "accounts "+strings.Join(groups, " "), func() result[account] {
		return r.readAccounts(func(rule rbacv1.PolicyRule) right { return rightOf(rule, groups) }, func(string) bool { return true })
	})
	return made.items, made.sure
}

// readAccounts returns the service accounts that have rights. The callback (gives) returns the
// right that a rule grants. The RoleBindings in a namespace are ignored if the other callback
// (counts) returns false for it.
func (r *Run) readAccounts(gives func(rbacv1.PolicyRule) right, counts func(namespace string) bool) result[account] {
	const rbac = "rbac.authorization.k8s.io/v1"
	roles, sure := r.List(KindOf(rbac, "ClusterRole"), "")
	bindings, sureOfBindings := r.List(KindOf(rbac, "ClusterRoleBinding"), "")
	local, sureOfLocal := r.List(KindOf(rbac, "RoleBinding"), "")
	localRoles, sureOfRoles := r.List(KindOf(rbac, "Role"), "")
	g := grants{rights: map[string]right{}, gives: gives}
	for _, role := range All[rbacv1.ClusterRole](roles) {
		g.role("ClusterRole/"+role.Name, role.Rules)
	}
	for _, role := range All[rbacv1.Role](localRoles) {
		g.role("Role/"+role.Namespace+"/"+role.Name, role.Rules)
	}
	for _, b := range All[rbacv1.ClusterRoleBinding](bindings) {
		g.bind(b.RoleRef, "", b.Subjects)
	}
	for _, b := range All[rbacv1.RoleBinding](local) {
		if counts(b.Namespace) {
			g.bind(b.RoleRef, b.Namespace, b.Subjects)
		}
	}
	slices.SortFunc(g.accounts, func(a, b account) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(b.right, a.right), cmp.Compare(a.role, b.role))
	})
	same := func(a, b account) bool { return a.namespace == b.namespace && a.name == b.name }
	return result[account]{slices.CompactFunc(g.accounts, same), sure && sureOfBindings && sureOfLocal && sureOfRoles}
}

type grants struct {
	gives    func(rbacv1.PolicyRule) right
	rights   map[string]right
	accounts []account
}

type right int

const (
	none right = iota
	mayUpdate
	mayFinalize // write the kind's finalizers or status; usually, only its controller is allowed to
)

func (g *grants) role(key string, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		g.rights[key] = max(g.rights[key], g.gives(rule))
	}
}

func rightOf(rule rbacv1.PolicyRule, groups []string) right {
	inGroup := slices.ContainsFunc(rule.APIGroups, func(group string) bool {
		return slices.ContainsFunc(groups, func(g string) bool { return related(group, g) })
	})
	if !inGroup || !writes(rule) {
		return none
	}
	for _, resource := range rule.Resources {
		if _, sub, _ := strings.Cut(resource, "/"); sub == "finalizers" || sub == "status" {
			return mayFinalize
		}
	}
	return mayUpdate
}

func writes(rule rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb == "update" || verb == "patch" || verb == "*" })
}

func (g *grants) bind(ref rbacv1.RoleRef, namespace string, subjects []rbacv1.Subject) {
	key := ref.Kind + "/" + ref.Name
	if ref.Kind == "Role" {
		key = "Role/" + namespace + "/" + ref.Name
	}
	if g.rights[key] == none {
		return
	}
	for _, s := range subjects {
		if s.Kind == rbacv1.ServiceAccountKind {
			g.accounts = append(g.accounts, account{
				namespace: cmp.Or(s.Namespace, namespace), name: s.Name,
				role: strings.ToLower(ref.Kind) + "/" + ref.Name, right: g.rights[key],
			})
		}
	}
}

// Lease is a Lease of the group coordination.k8s.io, which a controller uses to elect a leader.
type Lease struct {
	Ref     object.Ref
	Holder  string
	renewed time.Time
	lasts   time.Duration
}

// LeaseOf parses a Lease that has or had a holder.
func LeaseOf(u *unstructured.Unstructured) (Lease, bool) {
	typed, ok := As[coordinationv1.Lease](u)
	if !ok || typed.Spec.RenewTime == nil {
		return Lease{}, false
	}
	l := Lease{Ref: object.RefOf(u), renewed: typed.Spec.RenewTime.Time, lasts: 15 * time.Second}
	if typed.Spec.HolderIdentity != nil {
		l.Holder = *typed.Spec.HolderIdentity
	}
	if typed.Spec.LeaseDurationSeconds != nil {
		l.lasts = time.Duration(*typed.Spec.LeaseDurationSeconds) * time.Second
	}
	return l, true
}

// grace is how long an expired Lease still counts as held, because clocks differ.
const grace = 30 * time.Second

// Stale reports whether the Lease has no holder or has expired.
func (l Lease) Stale(now time.Time) bool {
	return l.Holder == "" || now.Sub(l.renewed) > l.lasts+grace
}

// String describes the Lease, for use as evidence.
func (l Lease) String(now time.Time) string {
	if l.Holder == "" {
		return fmt.Sprintf("%s has no holder", Name(l.Ref))
	}
	return fmt.Sprintf("%s is held by %s, last renewed %s ago", Name(l.Ref), text.Excerpt(l.Holder), Ago(now.Sub(l.renewed)))
}

// Leases returns all Leases except those of nodes, and whether all could be read.
func (r *Run) Leases() ([]Lease, bool) {
	made := Once(r, "leases", func() result[Lease] {
		objects, sure := r.List(KindOf("coordination.k8s.io/v1", "Lease"), "")
		var leases []Lease
		for _, u := range objects {
			if l, ok := LeaseOf(u); ok && u.GetNamespace() != "kube-node-lease" {
				leases = append(leases, l)
			}
		}
		return result[Lease]{leases, sure}
	})
	return made.items, made.sure
}
