package discovery

import "testing"

func TestSameGroup(t *testing.T) {
	for _, c := range []struct {
		typed, group string
		want         bool
	}{
		{"apps", "apps", true},
		{"v1.apps", "apps", true},
		{"aps", "apps", true},
		{"v1", "", true},
		{"v1.", "", true},
		{"v1.dev.example.com", "dev.example.com", true},
		{"cert-manger.io", "cert-manager.io", true},
		{"monitoring.coreso.com", "monitoring.coreos.com", true},
		{"networking.istio", "networking.istio.io", true},
		{"networking.k8sio", "networking.k8s.io", true},
		{"dev.example.com", "example.com", false},
		{"example.com", "", false},
		{"e2e-dn2zfv67hpuq.example.com", "e2e-dn2zfvqz27wb.example.com", false},
	} {
		if got := sameGroup(c.typed, c.group); got != c.want {
			t.Errorf("%s, %s: %t", c.typed, c.group, got)
		}
	}
}

// Two groups of one domain have similar names but are different groups. A caller may wait for a
// kind of one group while the server serves the other.
func TestGroupsOfOneDomain(t *testing.T) {
	groups := []string{
		"", "apps", "batch", "autoscaling", "policy", "events.k8s.io", "networking.k8s.io", "storage.k8s.io", "node.k8s.io",
		"discovery.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
		"rbac.authorization.k8s.io", "admissionregistration.k8s.io", "resource.k8s.io", "metrics.k8s.io", "custom.metrics.k8s.io",
		"gateway.networking.k8s.io", "networking.x-k8s.io", "cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io",
		"controlplane.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "addons.cluster.x-k8s.io", "node.cluster.x-k8s.io",
		"helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io",
		"kafka.strimzi.io", "core.strimzi.io", "cert-manager.io", "acme.cert-manager.io", "networking.istio.io", "security.istio.io",
		"telemetry.istio.io", "s3.aws.upbound.io", "ec2.aws.upbound.io", "eks.aws.upbound.io", "rds.aws.upbound.io",
		"sqs.aws.upbound.io", "sns.aws.upbound.io", "kms.aws.upbound.io", "iam.aws.upbound.io", "ecs.aws.upbound.io",
		"ecr.aws.upbound.io", "s3.services.k8s.aws", "ec2.services.k8s.aws", "rds.services.k8s.aws", "sqs.services.k8s.aws",
		"serving.knative.dev", "eventing.knative.dev", "sources.knative.dev", "messaging.knative.dev",
		"monitoring.coreos.com", "operators.coreos.com", "operator.openshift.io", "config.openshift.io", "ceph.rook.io",
	}
	for _, typed := range groups {
		for _, served := range groups {
			if typed != served && sameGroup(typed, served) {
				t.Errorf("%s counts as a typo of %s", typed, served)
			}
		}
	}
}
