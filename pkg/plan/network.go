package plan

import (
	"slices"
	"strings"
)

// networkFirst puts the network before other workloads if a network plugin is in the
// set: on a bare cluster all other pods wait for it.
//
// Workloads that run without a network go with it, since the plugin may wait for them: its
// operator, the cloud controller. Everything that these refer to is configuration, which is there
// already.
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

// isNetworkPlugin reports whether an item provides the network of a node's pods. It
// recognizes what every such plugin has to be: one pod on each node, even on one that
// is not ready (for lack of a network), in the node's own network, which writes where
// the container runtime looks for CNI plugins or their settings.
func isNetworkPlugin(it Item) bool {
	if it.GVK.GroupKind() != (groupKind{Group: "apps", Kind: "DaemonSet"}) {
		return false
	}
	spec, _ := podSpec(it)
	return runsWithoutNetwork(spec) && slices.ContainsFunc(mapsOf(spec["volumes"]), isCNIFolder)
}

// runsWithoutNetwork reports whether pods run on a node that has no pod network yet:
// they use the node's own, and are scheduled although the node is not ready.
func runsWithoutNetwork(spec map[string]any) bool {
	ownNetwork, _ := spec["hostNetwork"].(bool)
	return ownNetwork && slices.ContainsFunc(mapsOf(spec["tolerations"]), toleratesNotReady)
}

// toleratesNotReady reports whether a toleration matches the taint
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

// isCNIFolder reports whether a volume is a folder of the node for CNI plugins or
// their settings: /opt/cni/bin, /etc/cni/net.d, or the equivalent of a distribution.
func isCNIFolder(volume map[string]any) bool {
	host, _ := volume["hostPath"].(map[string]any)
	return slices.ContainsFunc(strings.Split(text(host, "path"), "/"), func(part string) bool {
		return part == "cni" || strings.HasPrefix(part, "cni-")
	})
}
