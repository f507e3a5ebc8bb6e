package apply

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/roles"
)

var errRoleNeedsDryRun error = &object.HintedError{
	Err:    errors.New("-o role needs --dry-run=server: it prints rights, and applies nothing"),
	Advice: "add --dry-run=server",
}

// deletes collects the objects that the run would delete.
func (r *run) deletes(emit func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		if a, ok := e.(event.Applied); ok && (a.Action == event.Recreated || a.Action == event.Pruned) {
			r.results.deleted = append(r.results.deleted, a.Ref)
			if a.Action == event.Recreated {
				r.results.probed = append(r.results.probed, a.Ref)
			}
		}
		emit(e)
	}
}

// rights returns the rights that the run needs without a dry run, whatever exists at that time. They
// also allow a diff. A server-side apply that creates an object is authorized by name.
func (r *run) rights(ctx context.Context) (roles.Rights, error) {
	var all roles.Rights
	for item := range r.plan.Items() {
		resource := r.resourceOf(item)
		if resource == "" {
			r.Out.Print(event.Warned{Ref: item.Ref, Text: fmt.Sprintf(
				"no right is printed: the cluster does not serve %s, so the name of the resource is unknown", item.GVK.GroupVersion())})
			continue
		}
		verbs := []string{"get", "create", "patch"}
		if r.Journal != nil {
			verbs = append(verbs, "delete")
		}
		all.AddResource(item.GVK.Group, resource, item.Namespace, item.Name, verbs...)
		addGranting(&all, item, resource)
	}
	for _, ref := range r.results.deleted {
		kind, err := r.client.Kind(ctx, ref.GVK)
		if err != nil {
			return all, err
		}
		all.Add(kind, ref, "get", "delete")
	}
	for _, ref := range r.results.probed {
		kind, err := r.client.Kind(ctx, ref.GVK)
		if err != nil {
			return all, err
		}
		ref.Name = predict.ProbeName(ref.Name)
		all.Add(kind, ref, "create", "patch")
	}
	// --confirm compares the cluster with that of the plan.
	all.AddResource("", "namespaces", "", "kube-system", "get")
	if r.results.member != nil {
		return all, r.results.member.Rights(ctx, &all, r.History > 0)
	}
	return all, nil
}

// resourceOf returns the resource of an object; if its CRD is only in the input, it returns the name
// that the CRD declares.
func (r *run) resourceOf(item plan.Item) string {
	if item.Kind.Resource != "" {
		return item.Kind.Resource
	}
	for other := range r.plan.Items() {
		group, _, _ := unstructured.NestedString(other.Object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(other.Object.Object, "spec", "names", "kind")
		if other.GVK.Kind == "CustomResourceDefinition" && group == item.GVK.Group && kind == item.GVK.Kind {
			plural, _, _ := unstructured.NestedString(other.Object.Object, "spec", "names", "plural")
			return plural
		}
	}
	return ""
}

// addGranting adds the verbs that allow granting rights that the account does not have itself.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
func addGranting(all *roles.Rights, item plan.Item, resource string) {
	if item.GVK.Group != "rbac.authorization.k8s.io" {
		return
	}
	switch item.GVK.Kind {
	case "Role", "ClusterRole":
		all.AddResource(item.GVK.Group, resource, item.Namespace, item.Name, "escalate")
	case "RoleBinding", "ClusterRoleBinding":
		kind, _, _ := unstructured.NestedString(item.Object.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(item.Object.Object, "roleRef", "name")
		granted := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[kind]
		if granted != "" {
			all.AddResource(item.GVK.Group, granted, item.Namespace, name, "bind")
		}
	}
}

// printRole writes the roles that the run needs.
func (r *run) printRole(ctx context.Context, w io.Writer) error {
	all, err := r.rights(ctx)
	if err != nil {
		return fmt.Errorf("the roles: %w", err)
	}
	if r.results.member != nil && r.History > 0 {
		r.Out.Print(event.Warned{Text: "the run's history needs rights to all Secrets in the namespace of the set; with --history=0, it does not"})
	}
	for _, role := range all.Roles() {
		text, err := format.YAML(role.Object(roleName))
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, "---\n"+string(text)); err != nil {
			return err
		}
	}
	return nil
}

const roleName = "k8sconnect-apply"
