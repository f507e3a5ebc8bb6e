package deprecation

import "testing"

// The table compared with pluto (versions.yaml of FairwindsOps/pluto) and kubent (pkg/rules/rego of
// doitintl/kube-no-trouble): deprecated and removed, "-" if unknown. why says what Kubernetes' own
// type contains if they differ.
func TestTableMatchesOtherTools(t *testing.T) {
	for _, row := range []struct{ kind, of, theirs, ours, why string }{
		{"networking.k8s.io/v1beta1/Ingress", "pluto", "1.19 1.22", "1.19 1.22", ""},
		{"policy/v1beta1/PodDisruptionBudget", "pluto", "1.21 1.25", "1.21 1.25", ""},
		{"autoscaling/v2beta2/HorizontalPodAutoscaler", "pluto", "1.23 1.26", "1.23 1.26", ""},
		{"batch/v1beta1/CronJob", "pluto", "1.21 1.25", "1.21 1.25", ""},
		{"storage.k8s.io/v1beta1/CSIStorageCapacity", "pluto", "1.24 1.27", "1.24 1.27", ""},
		{"apps/v1beta1/Deployment", "pluto", "1.9 1.16", "1.8 1.16", "deprecated=1.8"},
		{"extensions/v1beta1/DaemonSet", "pluto", "1.9 1.16", "1.8 1.16", "deprecated=1.8"},
		{"extensions/v1beta1/PodSecurityPolicy", "pluto", "1.10 1.16", "1.11 1.16", "deprecated=1.11"},
		{"apps/v1beta2/ReplicaSet", "pluto", "- 1.16", "1.9 1.16", "deprecated=1.9"},
		{"apps/v1beta1/ReplicaSet", "pluto", "- 1.16", "", "the group version never had the type"},
		{"scheduling.k8s.io/v1alpha1/PriorityClass", "pluto", "1.14 1.17", "", "the type has no tag, and no supported server serves it"},
		{"rbac.authorization.k8s.io/v1alpha1/ClusterRole", "pluto", "1.17 1.22", "", "the type has no tag, and no supported server serves it"},
		{"flowcontrol.apiserver.k8s.io/v1beta1/FlowControl", "pluto", "1.23 1.26", "", "no such type: the group has FlowSchema and PriorityLevelConfiguration"},
		{"storage.k8s.io/v1beta1/StorageClass", "pluto", "1.6 1.22", "1.19 1.22", "deprecated=1.19; 1.6 introduced the replacement"},
		{"storage.k8s.io/v1beta1/VolumeAttachment", "pluto", "1.13 1.22", "1.19 1.22", "deprecated=1.19; 1.13 introduced the replacement"},
		{"apiregistration.k8s.io/v1beta1/APIService", "pluto", "1.10 1.22", "1.19 1.22", "deprecated=1.19; 1.10 introduced the replacement"},
		{"authentication.k8s.io/v1beta1/TokenReview", "pluto", "1.6 1.22", "1.19 1.22", "deprecated=1.19; 1.6 introduced the replacement"},
		{"coordination.k8s.io/v1beta1/Lease", "pluto", "1.14 1.22", "1.19 1.22", "deprecated=1.19; 1.14 introduced the replacement"},
		{"events.k8s.io/v1beta1/Event", "pluto", "1.19 1.25", "1.22 1.25", "deprecated=1.22; 1.19 introduced the replacement"},
		{"resource.k8s.io/v1beta1/ResourceClaim", "pluto", "", "1.35 1.38", "deprecated=1.35, removed=1.38"},
		{"storage.k8s.io/v1beta1/CSINode", "kubent", "1.17 1.22", "1.17 1.22", ""},
		{"policy/v1beta1/PodSecurityPolicy", "kubent", "1.21 1.25", "1.21 1.25", ""},
		{"rbac.authorization.k8s.io/v1beta1/ClusterRole", "kubent", "1.8 1.22", "1.17 1.22", "deprecated=1.17; 1.8 introduced the replacement"},
		{"node.k8s.io/v1beta1/RuntimeClass", "kubent", "1.20 1.25", "1.22 1.25", "deprecated=1.22; 1.20 introduced the replacement"},
		{"flowcontrol.apiserver.k8s.io/v1beta3/FlowSchema", "kubent", "1.32 1.32", "1.29 1.32", "deprecated=1.29; 1.32 is its removal"},
		{"resource.k8s.io/v1beta1/ResourceClaim", "kubent", "", "1.35 1.38", "deprecated=1.35, removed=1.38"},
	} {
		ours := ""
		if lc, ok := Builtin(parseGVK(row.kind)); ok {
			ours = lc.Deprecated.String() + " " + lc.Removed.String()
		}
		if ours != row.ours {
			t.Errorf("%s: %q, want %q", row.kind, ours, row.ours)
		}
		if (row.theirs != row.ours) != (row.why != "") {
			t.Errorf("%s: %s has %q and the table %q, but the reason is %q", row.kind, row.of, row.theirs, row.ours, row.why)
		}
	}
}
