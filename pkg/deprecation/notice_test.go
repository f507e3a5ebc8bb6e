package deprecation_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// gvk parses "apps/v1 Deployment".
func gvk(s string) schema.GroupVersionKind {
	apiVersion, kind, _ := strings.Cut(s, " ")
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

func release(t testing.TB, s string) deprecation.Release {
	t.Helper()
	if s == "" {
		return deprecation.Release{}
	}
	r, err := deprecation.ParseRelease(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct{ kind, server, want string }{
		"not yet":                           {"flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema", "1.28", ""},
		"deprecated":                        {"flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema", "1.29", "flowcontrol.apiserver.k8s.io/v1beta3 is deprecated since 1.29, to be removed in 1.32; use v1"},
		"removed":                           {"flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema", "1.32", "flowcontrol.apiserver.k8s.io/v1beta3 is deprecated since 1.29, removed in 1.32; use v1"},
		"chain of replacements, to its end": {"flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema", "1.31", "flowcontrol.apiserver.k8s.io/v1beta1 is deprecated since 1.23, removed in 1.26; use v1"},
		"chain of replacements, not served to its end": {"flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema", "1.26", "flowcontrol.apiserver.k8s.io/v1beta1 is deprecated since 1.23, removed in 1.26; use v1beta3"},
		"named replacement is not served yet": {
			"flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema", "1.24",
			"flowcontrol.apiserver.k8s.io/v1beta1 is deprecated since 1.23, to be removed in 1.26; use v1beta2",
		},
		"named replacement is deprecated too": {"resource.k8s.io/v1alpha3 ResourceClaim", "1.36", "resource.k8s.io/v1alpha3 was removed in 1.34; use v1"},
		"no replacement named":                {"resource.k8s.io/v1beta1 ResourceClaim", "1.36", "resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1"},
		"no newer version served":             {"coordination.k8s.io/v1alpha2 LeaseCandidate", "1.37", "coordination.k8s.io/v1alpha2 is deprecated since 1.35, to be removed in 1.38"},
		"only a deprecated replacement":       {"extensions/v1beta1 PodSecurityPolicy", "1.21", "extensions/v1beta1 is deprecated since 1.11, removed in 1.16; use policy/v1beta1"},
		"no replacement left":                 {"extensions/v1beta1 PodSecurityPolicy", "1.33", "extensions/v1beta1 is deprecated since 1.11, removed in 1.16"},
		"another group":                       {"extensions/v1beta1 Ingress", "1.36", "extensions/v1beta1 is deprecated since 1.14, removed in 1.22; use networking.k8s.io/v1"},
		"another kind":                        {"v1 Endpoints", "1.36", "v1 Endpoints is deprecated since 1.33; use discovery.k8s.io/v1 EndpointSlice"},
		"a tag with a wrong release":          {"networking.k8s.io/v1beta1 IngressClass", "1.20", "networking.k8s.io/v1beta1 is deprecated since 1.19, to be removed in 1.22; use v1"},
		"removed before its planned release":  {"certificates.k8s.io/v1alpha1 PodCertificateRequest", "1.36", "certificates.k8s.io/v1alpha1 was removed in 1.35; use v1beta1"},
		"beta as newest":                      {"certificates.k8s.io/v1alpha1 ClusterTrustBundle", "1.36", "certificates.k8s.io/v1alpha1 is deprecated since 1.34, to be removed in 1.37; use v1beta1"},
		"stable":                              {"apps/v1 Deployment", "1.37", ""},
		"unknown kind":                        {"example.com/v1beta1 Widget", "1.37", ""},
		"unknown server":                      {"extensions/v1beta1 Ingress", "", ""},
		"not a kind":                          {"", "1.37", ""},
		"a kind that contains table cells":    {"apps/1.8 Deployment v1beta2", "1.37", ""},
	} {
		n, ok := deprecation.Check(gvk(tt.kind), release(t, tt.server))
		got := ""
		if ok {
			got = n.String()
		}
		if got != tt.want {
			t.Errorf("%s: %s\n got %q\nwant %q", name, tt.kind, got, tt.want)
		}
	}
}

// The table agrees with Kubernetes' deprecation guide:
// https://kubernetes.io/docs/reference/using-api/deprecation-guide/
func TestDeprecationGuide(t *testing.T) {
	for removed, kinds := range map[string][]string{
		"1.32": {
			"flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema > v1 1.29", "flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration > v1 1.29",
		},
		"1.29": {
			"flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema > v1 1.29", "flowcontrol.apiserver.k8s.io/v1beta2 PriorityLevelConfiguration > v1 1.29",
		},
		"1.27": {"storage.k8s.io/v1beta1 CSIStorageCapacity > v1 1.24"},
		"1.26": {
			"flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema > v1 1.29", "flowcontrol.apiserver.k8s.io/v1beta1 PriorityLevelConfiguration > v1 1.29",
			"autoscaling/v2beta2 HorizontalPodAutoscaler > v2 1.23",
		},
		"1.25": {
			"batch/v1beta1 CronJob > v1 1.21", "discovery.k8s.io/v1beta1 EndpointSlice > v1 1.21", "events.k8s.io/v1beta1 Event > v1 1.19",
			"autoscaling/v2beta1 HorizontalPodAutoscaler > v2 1.23", "policy/v1beta1 PodDisruptionBudget > v1 1.21",
			"policy/v1beta1 PodSecurityPolicy", "node.k8s.io/v1beta1 RuntimeClass > v1 1.20",
		},
		"1.22": {
			"admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration > v1 1.16", "admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration > v1 1.16",
			"apiextensions.k8s.io/v1beta1 CustomResourceDefinition > v1 1.16", "apiregistration.k8s.io/v1beta1 APIService > v1 1.10",
			"authentication.k8s.io/v1beta1 TokenReview > v1 1.6", "authorization.k8s.io/v1beta1 SubjectAccessReview > v1 1.6",
			"authorization.k8s.io/v1beta1 LocalSubjectAccessReview > v1", "authorization.k8s.io/v1beta1 SelfSubjectAccessReview > v1",
			"certificates.k8s.io/v1beta1 CertificateSigningRequest > v1 1.19", "coordination.k8s.io/v1beta1 Lease > v1 1.14",
			"extensions/v1beta1 Ingress > networking.k8s.io/v1 1.19", "networking.k8s.io/v1beta1 Ingress > v1 1.19", "networking.k8s.io/v1beta1 IngressClass > v1 1.19",
			"rbac.authorization.k8s.io/v1beta1 ClusterRole > v1 1.8", "rbac.authorization.k8s.io/v1beta1 ClusterRoleBinding > v1 1.8",
			"rbac.authorization.k8s.io/v1beta1 Role > v1 1.8", "rbac.authorization.k8s.io/v1beta1 RoleBinding > v1 1.8",
			"scheduling.k8s.io/v1beta1 PriorityClass > v1 1.14", "storage.k8s.io/v1beta1 CSIDriver > v1", "storage.k8s.io/v1beta1 CSINode > v1 1.17",
			"storage.k8s.io/v1beta1 StorageClass > v1 1.6", "storage.k8s.io/v1beta1 VolumeAttachment > v1 1.13",
		},
		"1.16": {
			"extensions/v1beta1 NetworkPolicy > networking.k8s.io/v1", "extensions/v1beta1 DaemonSet > apps/v1 1.9", "apps/v1beta2 DaemonSet > v1 1.9",
			"extensions/v1beta1 Deployment > apps/v1 1.9", "apps/v1beta1 Deployment > v1 1.9", "apps/v1beta2 Deployment > v1 1.9",
			"apps/v1beta1 StatefulSet > v1 1.9", "apps/v1beta2 StatefulSet > v1 1.9", "extensions/v1beta1 ReplicaSet > apps/v1 1.9", "apps/v1beta2 ReplicaSet > v1 1.9",
		},
	} {
		for _, row := range kinds {
			kind, want, _ := strings.Cut(row, " > ")
			lc, ok := deprecation.Builtin(gvk(kind))
			if !ok || lc.Removed != release(t, removed) {
				t.Errorf("%s: removed in %q, the guide says %s", kind, lc.Removed, removed)
			}
			use, since, _ := strings.Cut(want, " ")
			n, _ := deprecation.Check(gvk(kind), release(t, "1.33"))
			if _, got, _ := strings.Cut(n.String(), "; use "); got != use {
				t.Errorf("%s: use %q, the guide says %q", kind, got, use)
			}
			if lc, _ := deprecation.Builtin(n.Use); since != "" && lc.Introduced != release(t, since) {
				t.Errorf("%s: %s since %s, the guide says %s", kind, n.Use, lc.Introduced, since)
			}
		}
	}
}
