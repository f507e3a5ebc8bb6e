package deprecation

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// These are sources other than fields of k8s.io/api: files that contain kube-apiserver's own
// warnings.
const (
	serverPods     = "kube-apiserver: pkg/api/pod/warnings.go"
	serverServices = "kube-apiserver: pkg/api/service/warnings.go"
	serverVolumes  = "kube-apiserver: pkg/api/persistentvolume/util.go"
	serverClaims   = "kube-apiserver: pkg/api/persistentvolumeclaim/util.go"
	serverLabels   = "kube-apiserver: pkg/api/node/util.go"
	serverIngress  = "kube-apiserver: pkg/registry/networking/ingress/strategy.go"
)

func v1(minor int) Release { return Release{Major: 1, Minor: minor} }

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

// labelRules returns rules for paths that refer to labels of nodes, as map keys or as a string.
func labelRules(serverWarns bool, paths ...string) []rule {
	rules := make([]rule, len(paths))
	for i, path := range paths {
		rules[i] = rule{path: path, labels: true, source: serverLabels, serverWarns: serverWarns}
	}
	return rules
}

type nodeLabel struct {
	name  string
	since Release
	use   string
}

// nodeLabels returns the deprecated labels of nodes. The release of the last label is from
// KEP-2067. All other releases are from kube-apiserver's own warnings.
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

type rule struct {
	// path is relative to the base of its ruleSet; [] represents each item of a list.
	path string
	// key is a key of the map at path; a trailing * matches any suffix.
	key string
	// value is the deprecated value; empty for any.
	value string
	// labels means that the field may refer to deprecated node labels, which have their own
	// releases and replacements.
	labels bool
	// The paths in unless belong to the replacement. If one of them is set, the deprecated field is
	// not reported, since the API server may have set it.
	unless      []string
	since, gone Release
	use         string
	// source says where the deprecation is documented: a field of k8s.io/api, or another source.
	source      string
	serverWarns bool
}

type ruleSet struct {
	base  string
	rules []rule
}

func podRules() []rule {
	rules := []rule{
		{
			// The API server sets each of these two fields from the other.
			path: "spec.serviceAccount", unless: []string{"spec.serviceAccountName"},
			use: ".spec.serviceAccountName", source: "v1 PodSpec.serviceAccount",
		},
		{
			path: "spec.volumes[].gitRepo", since: v1(11), gone: v1(33),
			use: "an init container that clones the repository into an emptyDir", source: "v1 VolumeSource.gitRepo", serverWarns: true,
		},
	}
	rules = append(rules, pluginRules("spec.volumes[]", "v1 VolumeSource.")...)
	rules = append(rules, claimRule("spec.volumes[].ephemeral.volumeClaimTemplate.", false))
	rules = append(rules, annotationRules()...)
	for _, containers := range []string{"containers", "initContainers"} {
		for _, hook := range []string{"postStart", "preStop"} {
			rules = append(rules, rule{
				path: "spec." + containers + "[].lifecycle." + hook + ".tcpSocket",
				use:  "exec, httpGet or sleep", source: "v1 LifecycleHandler.tcpSocket",
			})
		}
	}
	return append(rules, podLabelRules()...)
}

// annotationRules returns the rules for annotations that became fields. If the field is set too,
// the annotation may be there for older clients, or the API server may have set it.
func annotationRules() []rule {
	annotation := func(key string, since, gone int, use string, unless ...string) rule {
		r := rule{path: "metadata.annotations", key: key, use: use, unless: unless, source: serverPods, serverWarns: true}
		if since > 0 {
			r.since = v1(since)
		}
		if gone > 0 {
			r.gone = v1(gone)
		}
		return r
	}
	seccomp := []string{"spec.securityContext.seccompProfile", "spec.containers[].securityContext.seccompProfile"}
	return []rule{
		annotation("scheduler.alpha.kubernetes.io/critical-pod", 0, 16, ".spec.priorityClassName"),
		annotation("security.alpha.kubernetes.io/sysctls", 0, 11, ".spec.securityContext.sysctls"),
		annotation("security.alpha.kubernetes.io/unsafe-sysctls", 0, 11, ".spec.securityContext.sysctls"),
		annotation("seccomp.security.alpha.kubernetes.io/pod", 19, 27, ".spec.securityContext.seccompProfile", seccomp...),
		annotation("container.seccomp.security.alpha.kubernetes.io/*", 19, 27, "the container's securityContext.seccompProfile", seccomp...),
		annotation("container.apparmor.security.beta.kubernetes.io/*", 30, 0, "the container's securityContext.appArmorProfile",
			"spec.securityContext.appArmorProfile", "spec.containers[].securityContext.appArmorProfile"),
	}
}

func podLabelRules() []rule {
	const (
		node   = "spec.affinity.nodeAffinity."
		pod    = "spec.affinity.podAffinity."
		anti   = "spec.affinity.podAntiAffinity."
		must   = "requiredDuringSchedulingIgnoredDuringExecution"
		should = "preferredDuringSchedulingIgnoredDuringExecution[]."
	)
	return append(labelRules(true,
		"spec.nodeSelector",
		node+must+".nodeSelectorTerms[].matchExpressions[].key",
		node+should+"preference.matchExpressions[].key",
		"spec.topologySpreadConstraints[].topologyKey",
	), labelRules(false,
		pod+must+"[].topologyKey",
		pod+should+"podAffinityTerm.topologyKey",
		anti+must+"[].topologyKey",
		anti+should+"podAffinityTerm.topologyKey",
	)...)
}
