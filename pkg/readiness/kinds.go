package readiness

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func ruleOf(gk schema.GroupKind) func(*subject) Verdict {
	switch gk.String() {
	case "Pod":
		return evaluatePod
	case "ReplicationController", "ReplicaSet.apps":
		return evaluateReplicaSet
	case "PersistentVolumeClaim":
		return evaluateClaim
	case "PersistentVolume":
		return evaluateVolume
	case "Service":
		return evaluateService
	case "Namespace":
		return evaluateNamespace
	case "Node":
		return needs("Ready")
	case "Deployment.apps":
		return evaluateDeployment
	case "StatefulSet.apps":
		return evaluateStatefulSet
	case "DaemonSet.apps":
		return evaluateDaemonSet
	case "Job.batch":
		return evaluateJob
	case "CronJob.batch":
		return exists // even if it is suspended
	case "CertificateSigningRequest.certificates.k8s.io":
		return evaluateSigningRequest
	case "HorizontalPodAutoscaler.autoscaling":
		return evaluateAutoscaler
	case "PodDisruptionBudget.policy":
		return evaluateDisruptionBudget
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return evaluateDefinition
	case "APIService.apiregistration.k8s.io":
		return needs("Available")
	case "TaskRun.tekton.dev", "PipelineRun.tekton.dev", "CustomRun.tekton.dev":
		return evaluateRun
	case "Gateway.gateway.networking.k8s.io":
		return unopposed(evaluateGateway)
	case "GatewayClass.gateway.networking.k8s.io":
		return unopposed(needs("Accepted"))
	}
	if gk.Group == "gateway.networking.k8s.io" && strings.HasSuffix(gk.Kind, "Route") {
		return unopposed(evaluateRoute)
	}
	return nil
}

// About describes in words when objects of a kind are ready, and reports whether the kind has a
// rule of its own.
func About(gk schema.GroupKind) (text string, own bool) {
	if ruleOf(gk) == nil {
		if object.IsBuiltIn(gk.Group) {
			return "it exists, and nothing in its status says that it is not ready", false
		}
		return "something in its status says that it is ready, and nothing in it says otherwise", false
	}
	return aboutOwn(gk), true
}

// OwnRules returns the kinds that have rules of their own. For the routes of the Gateway API, it
// returns only the known kinds, although every other kind of route has a rule, too.
func OwnRules() []schema.GroupKind {
	var all []schema.GroupKind
	for group, kinds := range map[string][]string{
		"":     {"Pod", "ReplicationController", "PersistentVolumeClaim", "PersistentVolume", "Service", "Namespace", "Node"},
		"apps": {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"}, "batch": {"Job", "CronJob"},
		"autoscaling": {"HorizontalPodAutoscaler"}, "policy": {"PodDisruptionBudget"},
		"apiextensions.k8s.io": {"CustomResourceDefinition"}, "apiregistration.k8s.io": {"APIService"},
		"certificates.k8s.io": {"CertificateSigningRequest"}, "tekton.dev": {"TaskRun", "PipelineRun", "CustomRun"},
		"gateway.networking.k8s.io": {"Gateway", "GatewayClass", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"},
	} {
		for _, kind := range kinds {
			all = append(all, schema.GroupKind{Group: group, Kind: kind})
		}
	}
	return all
}

func aboutOwn(gk schema.GroupKind) string {
	switch gk.Kind {
	case "Pod":
		return "it is Ready, or has completed successfully"
	case "PersistentVolumeClaim":
		return "it is Bound"
	case "PersistentVolume":
		return "it is Available, Bound or Released"
	case "Service":
		return "it exists and, if its type is LoadBalancer, has an address"
	case "Namespace":
		return "it is Active"
	case "Deployment":
		return "all replicas are up to date and available, no old one is left, and its controller reports the rollout as complete"
	case "ReplicaSet", "ReplicationController":
		return "all replicas are available, and none is surplus"
	case "StatefulSet":
		return "all replicas are available, and those that its strategy replaces are up to date"
	case "DaemonSet":
		return "its Pod is available and up to date on each node that should run it"
	case "Job":
		return "it is Complete"
	case "CronJob":
		return "it exists, suspended or not"
	case "HorizontalPodAutoscaler":
		return "it is AbleToScale and ScalingActive, or its target is scaled to zero"
	case "PodDisruptionBudget":
		return "its Pods have been counted"
	case "CustomResourceDefinition":
		return "it is Established"
	case "APIService":
		return "it is Available"
	case "CertificateSigningRequest":
		return "its certificate is issued"
	case "Gateway":
		return "it is Accepted and Programmed, and no listener reports a problem"
	case "GatewayClass":
		return "it is Accepted"
	case "TaskRun", "PipelineRun", "CustomRun":
		return "it has Succeeded"
	case "Node":
		return "it is Ready"
	}
	return "each gateway that has answered accepts it and resolves its references"
}
