package plan

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/object"

// references returns the objects, in the set or not, that must exist when the item
// is written. Only those count whose absence makes the API server refuse the item,
// or makes the cluster treat it differently. Most references are not of that sort:
// a Deployment waits for its ConfigMap on its own.
func (b *builder) references(it Item) []object.Key {
	var keys []object.Key
	if namespace := b.identity(it).Namespace; namespace != "" {
		keys = append(keys, object.Key{Kind: "Namespace", Name: namespace})
	}
	if d, ok := b.definitions[it.GVK.GroupKind()]; ok {
		keys = append(keys, d.key)
	}
	switch it.GVK.GroupKind() {
	case groupKind{Group: rbacGroup, Kind: "RoleBinding"}, groupKind{Group: rbacGroup, Kind: "ClusterRoleBinding"}:
		// A user who may not bind any role has to hold every permission of this
		// one, so the API server looks the role up.
		keys = append(keys, roleOf(it))
	case groupKind{Kind: "Pod"}:
		// Admission refuses a pod whose account or classes do not exist.
		spec, _ := it.Object.Object["spec"].(map[string]any)
		keys = append(keys,
			object.Key{Kind: "ServiceAccount", Namespace: it.Namespace, Name: text(spec, "serviceAccountName")},
			object.Key{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: text(spec, "priorityClassName")},
			object.Key{Group: "node.k8s.io", Kind: "RuntimeClass", Name: text(spec, "runtimeClassName")},
		)
	case groupKind{Kind: "Secret"}:
		// The token controller deletes a token whose account does not exist.
		if text(it.Object.Object, "type") == "kubernetes.io/service-account-token" {
			account := annotation(it, "kubernetes.io/service-account.name")
			keys = append(keys, object.Key{Kind: "ServiceAccount", Namespace: it.Namespace, Name: account})
		}
	}
	if !it.known() {
		// An aggregated API of the set may be the one that serves it.
		name := it.GVK.Version + "." + it.GVK.Group
		keys = append(keys, object.Key{Group: serviceGroup, Kind: "APIService", Name: name})
	}
	return keys
}
