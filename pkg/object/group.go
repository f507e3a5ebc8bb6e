package object

import (
	"slices"
	"strings"
)

// IsBuiltIn reports whether a group is one of Kubernetes' own: it has no dot, which a
// custom resource's group always has, or it is one of those with a dot in Kubernetes 1.36.
func IsBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || slices.Contains([]string{
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
		"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io",
		"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
		"scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
	}, group)
}
