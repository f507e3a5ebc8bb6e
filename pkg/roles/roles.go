// Package roles computes the smallest Roles and ClusterRole that allow given requests. It sends no
// requests.
package roles

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Rights are the rights that a run needs. The zero value has none.
type Rights struct {
	verbs map[subject][]string
}

// subject is what a right is about. An empty namespace means a cluster-scoped object, and an empty
// name means all objects of the resource.
type subject struct{ namespace, group, resource, name string }

// Add adds verbs on the object, or on all objects of the kind in its namespace if it has no name.
func (r *Rights) Add(kind object.Kind, ref object.Ref, verbs ...string) {
	r.AddResource(kind.GVK.Group, kind.Resource, ref.Namespace, ref.Name, verbs...)
}

// AddResource is [Rights.Add] for a resource.
func (r *Rights) AddResource(group, resource, namespace, name string, verbs ...string) {
	if r.verbs == nil {
		r.verbs = map[subject][]string{}
	}
	at := subject{namespace, group, resource, name}
	r.verbs[at] = append(r.verbs[at], verbs...)
}

// Role is a Role, or the ClusterRole if Namespace is empty.
type Role struct {
	Namespace string
	Rules     []Rule
}

// Rule is a rule of a role. Without names, it applies to all objects of the resource.
type Rule struct {
	Group, Resource string
	Names, Verbs    []string
}

// Roles returns the roles: the ClusterRole first, and then one Role for each namespace. Objects of a
// resource that need the same verbs share a rule.
func (r Rights) Roles() []Role {
	type shared struct { // by the objects of one rule
		group, resource, verbs string
		named                  bool
	}
	rules := map[string]map[shared]*Rule{}
	for _, at := range slices.SortedFunc(maps.Keys(r.verbs), compare) {
		verbs := slices.Clone(r.verbs[at])
		if at.name != "" {
			all := r.verbs[subject{at.namespace, at.group, at.resource, ""}]
			verbs = slices.DeleteFunc(verbs, func(v string) bool { return slices.Contains(all, v) })
		}
		if verbs = inOrder(verbs); len(verbs) == 0 {
			continue
		}
		if rules[at.namespace] == nil {
			rules[at.namespace] = map[shared]*Rule{}
		}
		key := shared{at.group, at.resource, strings.Join(verbs, ","), at.name != ""}
		rule := rules[at.namespace][key]
		if rule == nil {
			rule = &Rule{Group: at.group, Resource: at.resource, Verbs: verbs}
			rules[at.namespace][key] = rule
		}
		if at.name != "" {
			rule.Names = append(rule.Names, at.name)
		}
	}
	var roles []Role
	for _, namespace := range slices.Sorted(maps.Keys(rules)) {
		role := Role{Namespace: namespace}
		for _, rule := range rules[namespace] {
			role.Rules = append(role.Rules, *rule)
		}
		slices.SortFunc(role.Rules, func(a, b Rule) int {
			return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), slices.Compare(a.Names, b.Names), slices.Compare(a.Verbs, b.Verbs))
		})
		roles = append(roles, role)
	}
	return roles
}

func compare(a, b subject) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.name, b.name))
}

// inOrder sorts verbs as people list them, and removes duplicates.
func inOrder(verbs []string) []string {
	usual := []string{"get", "list", "watch", "create", "patch", "delete"}
	rank := func(v string) int {
		if i := slices.Index(usual, v); i >= 0 {
			return i
		}
		return len(usual)
	}
	slices.SortFunc(verbs, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return slices.Compact(verbs)
}

// Object returns the role as an object.
func (r Role) Object(name string) map[string]any {
	meta := map[string]any{"name": name}
	kind := "ClusterRole"
	if r.Namespace != "" {
		kind, meta["namespace"] = "Role", r.Namespace
	}
	rules := make([]any, len(r.Rules))
	for i, rule := range r.Rules {
		fields := map[string]any{"apiGroups": []any{rule.Group}, "resources": []any{rule.Resource}, "verbs": anys(rule.Verbs)}
		if len(rule.Names) > 0 {
			fields["resourceNames"] = anys(rule.Names)
		}
		rules[i] = fields
	}
	return map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, "rules": rules}
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}
