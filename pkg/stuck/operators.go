package stuck

import "strings"

// operator is who a finalizer is known to belong to.
type operator struct {
	// name is how people call it.
	name string
	// workloads are the names that it runs under: of a Deployment, StatefulSet or
	// DaemonSet, or of its label app.kubernetes.io/name.
	workloads []string
}

// operatorOf knows the finalizers of operators that many clusters run. Where a
// finalizer's name does not tell by itself whose it is, nothing else does once the
// operator is gone.
func operatorOf(finalizer string) operator {
	for _, known := range []struct {
		finalizer string // whole, or a beginning or end if it has an asterisk there
		operator
	}{
		{"*.cert-manager.io", certManager()}, {"*.cert-manager.io/*", certManager()},
		{"finalizer.acme.cert-manager.io", certManager()},
		{"resources-finalizer.argocd.argoproj.io*", argoCD()}, {"foreground-finalizer.argocd.argoproj.io", argoCD()},
		{"background-finalizer.argocd.argoproj.io", argoCD()}, {"*.argocd.argoproj.io*", argoCD()},
		{"finalizers.fluxcd.io", flux()},
		{"finalizer.apiextensions.crossplane.io", crossplane()}, {"composite.apiextensions.crossplane.io", crossplane()},
		{"defined.apiextensions.crossplane.io", crossplane()}, {"offered.apiextensions.crossplane.io", crossplane()},
		{"finalizer.managedresource.crossplane.io", operator{name: "a Crossplane provider"}},
		{"in-use.crossplane.io", crossplane()},
		{"*externalsecrets.external-secrets.io*", externalSecrets()}, {"*.external-secrets.io/*", externalSecrets()},
		{"service.k8s.aws/resources", awsLoadBalancer()}, {"ingress.k8s.aws/resources", awsLoadBalancer()},
		{"group.ingress.k8s.aws/*", awsLoadBalancer()}, {"elbv2.k8s.aws/*", awsLoadBalancer()},
		{"networking.gke.io/*", operator{name: "the GKE ingress controller"}},
		{"*.strimzi.io/*", operator{"Strimzi", []string{"strimzi-cluster-operator", "strimzi"}}},
		{"longhorn.io", operator{"Longhorn", []string{"longhorn-manager"}}},
		{"*.ceph.rook.io", operator{"Rook", []string{"rook-ceph-operator"}}},
		{"velero.io/*", operator{"Velero", []string{"velero"}}},
		{"*.velero.io", operator{"Velero", []string{"velero"}}},
		{"*.serving.knative.dev", operator{"Knative Serving", []string{"controller"}}},
		{"chains.tekton.dev*", operator{"Tekton Chains", []string{"tekton-chains-controller"}}},
		{"operator.victoriametrics.com/*", operator{"the VictoriaMetrics operator", []string{"victoria-metrics-operator", "vm-operator"}}},
		{"karpenter.sh/termination", operator{"Karpenter", []string{"karpenter"}}},
		{"*.cluster.x-k8s.io", operator{"Cluster API", []string{"capi-controller-manager"}}},
		{"finalizer.keda.sh", operator{"KEDA", []string{"keda-operator"}}},
		{"elasticsearch.k8s.elastic.co/*", operator{"ECK", []string{"elastic-operator"}}},
		{"external-attacher/*", operator{"the CSI driver's attacher", []string{"csi-attacher"}}},
		{"external-provisioner.volume.kubernetes.io/finalizer", operator{"the CSI driver's provisioner", []string{"csi-provisioner"}}},
		{"snapshot.storage.kubernetes.io/*", operator{"the CSI snapshot controller", []string{"snapshot-controller"}}},
		{"gateway-exists-finalizer.gateway.networking.k8s.io", operator{name: "the Gateway API implementation"}},
	} {
		if matches(known.finalizer, finalizer) {
			return known.operator
		}
	}
	return operator{}
}

// matches compares with a pattern that may begin and end with an asterisk.
func matches(pattern, s string) bool {
	middle, open := strings.CutSuffix(pattern, "*")
	end, free := strings.CutPrefix(middle, "*")
	switch {
	case free && open:
		return strings.Contains(s, end)
	case free:
		return strings.HasSuffix(s, end)
	case open:
		return strings.HasPrefix(s, middle)
	default:
		return s == pattern
	}
}

func certManager() operator { return operator{"cert-manager", []string{"cert-manager"}} }

func argoCD() operator {
	return operator{"Argo CD", []string{"argocd-application-controller", "argocd-applicationset-controller"}}
}

func flux() operator {
	return operator{"Flux", []string{
		"kustomize-controller", "helm-controller", "source-controller",
		"notification-controller", "image-automation-controller", "image-reflector-controller",
	}}
}

func crossplane() operator { return operator{"Crossplane", []string{"crossplane"}} }

func externalSecrets() operator { return operator{"External Secrets", []string{"external-secrets"}} }

func awsLoadBalancer() operator {
	return operator{"the AWS Load Balancer Controller", []string{"aws-load-balancer-controller"}}
}
