package diagnose

import "strings"

// operator is the known owner of a finalizer.
type operator struct {
	// name is its usual name.
	name string
	// workloads are the names under which it runs: of a Deployment, StatefulSet or
	// DaemonSet, or of its label app.kubernetes.io/name.
	workloads []string
}

// operatorOf returns the operator that owns a well-known finalizer. Such a list is needed
// because some finalizers' names do not identify their owner, and nothing else does once
// the operator is gone.
func operatorOf(finalizer string) operator {
	for _, known := range []struct {
		finalizer string // whole, or a beginning or end if it has an asterisk there
		operator
	}{
		{"finalizer.acme.cert-manager.io", certManager()},
		{"acme.cert-manager.io/finalizer", certManager()},
		{"*.argocd.argoproj.io", argoCD()},
		{"*.argocd.argoproj.io/*", argoCD()},
		{"finalizers.fluxcd.io", flux()},
		{"*.apiextensions.crossplane.io", operator{"Crossplane", []string{"crossplane"}}},
		{"finalizer.managedresource.crossplane.io", operator{name: "a Crossplane provider"}},
		{"in-use.crossplane.io", operator{name: "a Crossplane provider"}},
		{"*external-secrets.io/*", operator{"External Secrets", []string{"external-secrets"}}},
		{"service.k8s.aws/resources", awsLoadBalancer()},
		{"ingress.k8s.aws/resources", awsLoadBalancer()},
		{"group.ingress.k8s.aws/*", awsLoadBalancer()},
		{"elbv2.k8s.aws/resources", awsLoadBalancer()},
		{"strimzi.io/topic-operator", operator{"Strimzi's topic operator", []string{"topic-operator"}}},
		{"longhorn.io", operator{"Longhorn", []string{"longhorn-manager"}}},
		{"*.ceph.rook.io", operator{"Rook", []string{"rook-ceph-operator"}}},
		{"*.velero.io/*", operator{"Velero", []string{"velero"}}},
		{"apps.victoriametrics.com/finalizer", operator{"the VictoriaMetrics operator", []string{"victoria-metrics-operator", "vm-operator"}}},
		{"karpenter.sh/termination", operator{"Karpenter", []string{"karpenter"}}},
		{"karpenter.k8s.aws/termination", operator{"Karpenter", []string{"karpenter"}}},
		{"*.cluster.x-k8s.io", operator{"Cluster API", []string{"capi-controller-manager"}}},
		{"finalizer.keda.sh", operator{"KEDA", []string{"keda-operator"}}},
		{"external-attacher/*", operator{"the CSI driver's attacher", []string{"csi-attacher"}}},
		{"external-provisioner.volume.kubernetes.io/finalizer", operator{"the CSI driver's provisioner", []string{"csi-provisioner"}}},
		{"snapshot.storage.kubernetes.io/*", operator{"the CSI snapshot controller", []string{"snapshot-controller"}}},
		{"gateway-exists-finalizer.gateway.networking.k8s.io", operator{name: "the Gateway API's implementation"}},
	} {
		if matches(known.finalizer, finalizer) {
			return known.operator
		}
	}
	return operator{}
}

// matches reports whether a name matches a pattern that may begin and end with an
// asterisk.
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

func awsLoadBalancer() operator {
	return operator{"the AWS Load Balancer Controller", []string{"aws-load-balancer-controller"}}
}
