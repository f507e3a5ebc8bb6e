package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// bringers returns the objects of the set that may make the server serve the item's kind: a CRD
// with the item's version, an APIService, or workloads with a role that names the group. A role for
// all groups does not count.
func (b *builder) bringers(it Item) []object.Key {
	if it.Kind.Resource != "" || object.IsBuiltIn(it.GVK.Group) {
		return nil
	}
	var keys []object.Key
	if d, ok := b.crds[it.GVK.GroupKind()]; ok && d.served[it.GVK.Version] {
		keys = append(keys, d.key)
	}
	service := object.Key{Group: serviceGroup, Kind: "APIService", Name: it.GVK.Version + "." + it.GVK.Group}
	if _, ok := b.index[service]; ok {
		keys = append(keys, service)
	}
	return append(keys, b.operators(it.GVK.Group)...)
}

// onlyIn returns the versions in the set's CRD for the kind, or nothing if the item's version is
// one of them.
func (b *builder) onlyIn(it Item) []string {
	d, ok := b.crds[it.GVK.GroupKind()]
	if !ok || it.Kind.Resource != "" || d.served[it.GVK.Version] {
		return nil
	}
	return slices.Sorted(maps.Keys(d.served))
}

// operators returns the workloads whose service account has a role that names the API group.
func (b *builder) operators(group string) []object.Key {
	if b.operatorsOf == nil {
		b.operatorsOf = map[string][]object.Key{}
	}
	known, ok := b.operatorsOf[group]
	if ok {
		return known
	}
	accounts := b.accounts(b.rolesNaming(group))
	for _, n := range b.nodes {
		if account, runs := accountOf(n.Item); runs && accounts[account] {
			known = append(known, n.Key())
		}
	}
	b.operatorsOf[group] = known
	return known
}

func (b *builder) rolesNaming(group string) map[object.Key]bool {
	roles := map[object.Key]bool{}
	for _, n := range b.nodes {
		if !isRole(n.GVK.GroupKind()) {
			continue
		}
		for _, rule := range mapsOf(n.Object.Object["rules"]) {
			groups, _ := rule["apiGroups"].([]any)
			if slices.Contains(groups, any(group)) {
				roles[n.Key()] = true
			}
		}
	}
	return roles
}

// accounts returns the service accounts to which the set's bindings grant one of the roles.
func (b *builder) accounts(roles map[object.Key]bool) map[object.Key]bool {
	accounts := map[object.Key]bool{}
	for _, n := range b.nodes {
		if n.GVK.Group != rbacGroup || !strings.HasSuffix(n.GVK.Kind, "Binding") || !roles[roleOf(n.Item)] {
			continue
		}
		for _, subject := range mapsOf(n.Object.Object["subjects"]) {
			namespace := cmp.Or(text(subject, "namespace"), n.Namespace)
			if text(subject, "kind") == "ServiceAccount" {
				accounts[object.Key{Kind: "ServiceAccount", Namespace: namespace, Name: text(subject, "name")}] = true
			}
		}
	}
	return accounts
}

func accountOf(it Item) (object.Key, bool) {
	spec, ok := podSpec(it)
	// serviceAccount is the deprecated name of this field.
	name := cmp.Or(text(spec, "serviceAccountName"), text(spec, "serviceAccount"), "default")
	return object.Key{Kind: "ServiceAccount", Namespace: it.Namespace, Name: name}, ok
}

// networkFirst moves the network plugins of the set to a phase before the other workloads, whose
// Pods wait for the network. Workloads that run without a Pod network share the plugins' phase,
// because a plugin may wait for some of them.
func (b *builder) networkFirst() {
	if !slices.ContainsFunc(b.nodes, func(n node) bool { return isNetworkPlugin(n.Item) }) {
		return
	}
	for i := range b.nodes {
		n := &b.nodes[i]
		if spec, runs := podSpec(n.Item); runs && n.place.class == workloads && runsWithoutNetwork(spec) {
			n.place.class = network
		}
	}
}

// isNetworkPlugin recognizes a plugin by three properties: it runs one Pod on each node, even a
// node that is not ready; it uses the node's network; and it mounts a host folder for CNI.
func isNetworkPlugin(it Item) bool {
	if it.GVK.GroupKind() != (groupKind{Group: "apps", Kind: "DaemonSet"}) {
		return false
	}
	spec, _ := podSpec(it)
	return runsWithoutNetwork(spec) && slices.ContainsFunc(mapsOf(spec["volumes"]), isCNIFolder)
}

// runsWithoutNetwork reports whether the Pods use the node's network and run even on a node that is
// not ready.
func runsWithoutNetwork(spec map[string]any) bool {
	ownNetwork, _ := spec["hostNetwork"].(bool)
	return ownNetwork && slices.ContainsFunc(mapsOf(spec["tolerations"]), toleratesNotReady)
}

// toleratesNotReady reports whether a toleration covers the taint
// node.kubernetes.io/not-ready:NoSchedule, which has no value.
func toleratesNotReady(toleration map[string]any) bool {
	effect, key := text(toleration, "effect"), text(toleration, "key")
	if effect != "" && effect != "NoSchedule" {
		return false
	}
	const notReady = "node.kubernetes.io/not-ready"
	switch text(toleration, "operator") {
	case "Exists":
		return key == "" || key == notReady
	case "Equal", "":
		return key == notReady && text(toleration, "value") == ""
	default:
		return false
	}
}

// isCNIFolder recognizes /opt/cni/bin, /etc/cni/net.d, and the equivalents of distributions.
func isCNIFolder(volume map[string]any) bool {
	host, _ := volume["hostPath"].(map[string]any)
	return slices.ContainsFunc(strings.Split(text(host, "path"), "/"), func(part string) bool {
		return part == "cni" || strings.HasPrefix(part, "cni-")
	})
}
