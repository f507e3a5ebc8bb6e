package deprecation

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Sources other than a field of k8s.io/api: kube-apiserver's own warnings, and the file that has
// them.
const (
	serverPods     = "kube-apiserver: pkg/api/pod/warnings.go"
	serverServices = "kube-apiserver: pkg/api/service/warnings.go"
	serverVolumes  = "kube-apiserver: pkg/api/persistentvolume/util.go"
	serverClaims   = "kube-apiserver: pkg/api/persistentvolumeclaim/util.go"
	serverLabels   = "kube-apiserver: pkg/api/node/util.go"
	serverIngress  = "kube-apiserver: pkg/registry/networking/ingress/strategy.go"
)

// v1 returns the release 1.minor.
func v1(minor int) Release { return Release{Major: 1, Minor: minor} }

// objectRules returns the rules for a kind without Pods.
func objectRules(kind schema.GroupKind) []rule {
	switch kind {
	case schema.GroupKind{Kind: "Service"}:
		return serviceRules()
	case schema.GroupKind{Kind: "ServiceAccount"}:
		return []rule{{
			path: "metadata.annotations", key: "kubernetes.io/enforce-mountable-secrets",
			since: v1(32), use: "separate namespaces", source: "v1 ServiceAccount.secrets", serverWarns: true,
		}}
	case schema.GroupKind{Kind: "Node"}:
		return []rule{{path: "spec.configSource", since: v1(22), gone: v1(24), source: "v1 NodeSpec.configSource", serverWarns: true}}
	case schema.GroupKind{Kind: "PersistentVolume"}:
		return volumeRules()
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return []rule{claimRule("", true)}
	case schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}, schema.GroupKind{Group: "extensions", Kind: "Ingress"}:
		return []rule{{
			path: "metadata.annotations", key: "kubernetes.io/ingress.class",
			since: v1(18), use: ".spec.ingressClassName", source: serverIngress, serverWarns: true,
		}}
	case schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"}:
		return labelRules(true, "scheduling.nodeSelector")
	case schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}:
		return labelRules(true, "allowedTopologies[].matchLabelExpressions[].key")
	}
	return nil
}

func serviceRules() []rule {
	return []rule{
		{
			path: "spec.loadBalancerIP", since: v1(24), use: "the annotations of the load balancer's provider",
			source: "v1 ServiceSpec.loadBalancerIP",
		},
		{
			path: "spec.externalIPs", since: v1(36), use: "a load balancer, or a Gateway", source: serverServices, serverWarns: true,
		},
		{
			path: "spec.trafficDistribution", value: "PreferClose", since: v1(34), use: "PreferSameZone",
			source: serverServices, serverWarns: true,
		},
		{
			path: "metadata.annotations", key: "service.kubernetes.io/topology-aware-hints",
			since: v1(27), use: "service.kubernetes.io/topology-mode", source: serverServices, serverWarns: true,
		},
	}
}

// claimRule returns the rule for a claim, or for a template of one at a path.
func claimRule(path string, serverWarns bool) rule {
	return rule{
		path: path + "metadata.annotations", key: "volume.beta.kubernetes.io/storage-class",
		since: v1(8), use: ".spec.storageClassName", source: serverClaims, serverWarns: serverWarns,
	}
}

func claimTemplateRules() []rule { return []rule{claimRule("volumeClaimTemplates[].", false)} }

func volumeRules() []rule {
	rules := []rule{
		{
			path: "metadata.annotations", key: "volume.beta.kubernetes.io/storage-class",
			since: v1(8), use: ".spec.storageClassName", source: serverVolumes, serverWarns: true,
		},
		{
			path: "metadata.annotations", key: "volume.beta.kubernetes.io/mount-options",
			since: v1(31), use: ".spec.mountOptions", source: serverVolumes, serverWarns: true,
		},
		{
			path: "spec.persistentVolumeReclaimPolicy", value: "Recycle",
			use: "dynamic provisioning", source: "v1 PersistentVolumeSpec.persistentVolumeReclaimPolicy", serverWarns: true,
		},
	}
	rules = append(rules, pluginRules("spec", "v1 PersistentVolumeSource.")...)
	return append(rules, labelRules(true, "spec.nodeAffinity.required.nodeSelectorTerms[].matchExpressions[].key")...)
}

// pluginRules returns the rules for volume plugins that were part of Kubernetes. The releases are
// from kube-apiserver's own warnings, or else from
// https://kubernetes.io/docs/concepts/storage/persistent-volumes/#types-of-persistent-volumes.
func pluginRules(path, source string) []rule {
	plugin := func(field string, since, gone int, use string) rule {
		r := rule{path: path + "." + field, since: v1(since), use: use, source: source + field}
		if gone > 0 {
			r.gone = v1(gone)
			ofVolume := path == "spec"
			r.serverWarns = !ofVolume || field != "flocker" && field != "quobyte"
		}
		return r
	}
	return []rule{
		plugin("awsElasticBlockStore", 17, 0, "the CSI driver ebs.csi.aws.com"),
		plugin("azureDisk", 19, 0, "the CSI driver disk.csi.azure.com"),
		plugin("azureFile", 21, 0, "the CSI driver file.csi.azure.com"),
		plugin("cephfs", 28, 31, "a CSI driver"),
		plugin("cinder", 18, 0, "the CSI driver cinder.csi.openstack.org"),
		plugin("flexVolume", 23, 0, "a CSI driver"),
		plugin("flocker", 22, 25, ""),
		plugin("gcePersistentDisk", 17, 0, "the CSI driver pd.csi.storage.gke.io"),
		plugin("glusterfs", 25, 26, "a CSI driver"),
		plugin("photonPersistentDisk", 11, 16, ""),
		plugin("portworxVolume", 25, 0, "the CSI driver pxd.portworx.com"),
		plugin("quobyte", 22, 25, "a CSI driver"),
		plugin("rbd", 28, 31, "a CSI driver"),
		plugin("scaleIO", 16, 22, ""),
		plugin("storageos", 22, 25, ""),
		plugin("vsphereVolume", 19, 0, "the CSI driver csi.vsphere.vmware.com"),
	}
}

// labelRules returns the rules for places that name labels of nodes: as keys of a map, or as the
// text at a path.
func labelRules(serverWarns bool, paths ...string) []rule {
	rules := make([]rule, len(paths))
	for i, path := range paths {
		rules[i] = rule{path: path, labels: true, source: serverLabels, serverWarns: serverWarns}
	}
	return rules
}

// nodeLabel is a deprecated label of nodes.
type nodeLabel struct {
	name  string
	since Release
	use   string
}

// nodeLabels returns the deprecated labels of nodes. The release of the last is from KEP-2067, the
// others are from kube-apiserver's own warnings.
func nodeLabels() [6]nodeLabel {
	return [...]nodeLabel{
		{"beta.kubernetes.io/arch", v1(14), "kubernetes.io/arch"},
		{"beta.kubernetes.io/os", v1(14), "kubernetes.io/os"},
		{"beta.kubernetes.io/instance-type", v1(17), "node.kubernetes.io/instance-type"},
		{"failure-domain.beta.kubernetes.io/region", v1(17), "topology.kubernetes.io/region"},
		{"failure-domain.beta.kubernetes.io/zone", v1(17), "topology.kubernetes.io/zone"},
		{"node-role.kubernetes.io/master", v1(20), "node-role.kubernetes.io/control-plane"},
	}
}

// rule describes a deprecated field.
type rule struct {
	// path is its path from the root of its rules; [] stands for each item of a list.
	path string
	// key is a key of the map at path; a trailing * stands for any rest.
	key string
	// value is the deprecated value; empty for any.
	value string
	// labels: look for deprecated labels of nodes, with their own releases and replacements.
	labels bool
	// unless are paths of its replacement: if one is set, the field is not reported, since the API
	// server may have filled it in.
	unless      []string
	since, gone Release
	use         string
	// source is where it was deprecated: a field of k8s.io/api, or another source.
	source string
	// serverWarns is [FieldNotice.ServerWarns].
	serverWarns bool
}

// ruleSet holds the rules below a path.
type ruleSet struct {
	base  string
	rules []rule
}
