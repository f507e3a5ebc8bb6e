package plan

import (
	"cmp"
	"strconv"
)

// class is the earliest part of a plan that an object may be in.
type class int

const (
	// definitions: what makes other objects possible in the first place.
	definitions class = iota
	// configuration: what others refer to, or what shapes them when they are
	// written.
	configuration
	// network: what gives Pods a network, and what runs without one. Used only if a
	// network plugin is in the set.
	network
	// workloads: everything else, including custom objects.
	workloads
	// registrations: what intercepts requests. The programs behind it must run
	// first, or it would block the rest of the set.
	registrations
	// unknown: kinds that the operators, definitions or aggregated APIs of the set
	// may provide.
	unknown
)

func (c class) String() string {
	switch c {
	case definitions:
		return "CRDs and namespaces"
	case configuration:
		return "configuration"
	case network:
		return "network"
	case workloads:
		return "workloads"
	case registrations:
		return "webhooks"
	case unknown:
		return "unknown kinds"
	}
	return ""
}

// classOf returns the class of a kind. Scope and existence of a kind come from the
// cluster; its purpose has to be known, so these are Kubernetes' own kinds.
func classOf(gk groupKind) class {
	switch gk.Group {
	case coreGroup:
		return classOfCore(gk.Kind)
	case "apiextensions.k8s.io":
		return definitions
	case "admissionregistration.k8s.io", serviceGroup:
		return registrations
	case rbacGroup, "storage.k8s.io", "scheduling.k8s.io", "node.k8s.io", "flowcontrol.apiserver.k8s.io":
		return configuration
	}
	switch gk {
	case groupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"},
		groupKind{Group: "networking.k8s.io", Kind: "IngressClass"},
		groupKind{Group: "networking.k8s.io", Kind: "ServiceCIDR"},
		groupKind{Group: "resource.k8s.io", Kind: "DeviceClass"},
		groupKind{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}:
		return configuration
	}
	return workloads
}

func classOfCore(kind string) class {
	switch kind {
	case "Namespace":
		return definitions
	case "ServiceAccount", "ConfigMap", "Secret", "Service", "LimitRange", "ResourceQuota",
		"PersistentVolume", "PersistentVolumeClaim":
		return configuration
	}
	return workloads
}

// place is an item's position in the plan: the step within the class. Each place in
// use becomes one phase.
type place struct {
	class class
	step  int
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.class, q.class), cmp.Compare(p.step, q.step))
}

func (p place) String() string {
	if p.step == 0 {
		return p.class.String()
	}
	return p.class.String() + " " + strconv.Itoa(p.step+1)
}
