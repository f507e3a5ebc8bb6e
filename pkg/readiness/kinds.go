package readiness

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// ruleOf returns a kind's own rule, or nil.
func ruleOf(gk schema.GroupKind) func(*subject) Verdict {
	switch gk.Group {
	case "":
		return coreRule(gk.Kind)
	case "apps":
		return appsRule(gk.Kind)
	case "gateway.networking.k8s.io":
		return gatewayRule(gk.Kind)
	}
	switch gk.String() {
	case "Job.batch":
		return evaluateJob
	case "CronJob.batch":
		return exists // Suspended or not, it has nothing to wait for.
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
	}
	return nil
}

func coreRule(kind string) func(*subject) Verdict {
	switch kind {
	case "Pod":
		return evaluatePod
	case "ReplicationController":
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
	}
	return nil
}

func appsRule(kind string) func(*subject) Verdict {
	switch kind {
	case "Deployment":
		return evaluateDeployment
	case "ReplicaSet":
		return evaluateReplicaSet
	case "StatefulSet":
		return evaluateStatefulSet
	case "DaemonSet":
		return evaluateDaemonSet
	}
	return nil
}

func gatewayRule(kind string) func(*subject) Verdict {
	switch {
	case kind == "Gateway":
		return unopposed(evaluateGateway)
	case kind == "GatewayClass":
		return unopposed(needs("Accepted"))
	case strings.HasSuffix(kind, "Route"):
		return unopposed(evaluateRoute)
	}
	return nil
}

// About says when objects of a kind are ready, and whether the kind has its own rule.
func About(gk schema.GroupKind) (text string, own bool) {
	if ruleOf(gk) == nil {
		if object.IsBuiltIn(gk.Group) {
			return "it exists, and nothing in its status says otherwise", false
		}
		return "something in its status says that it is ready, and nothing in it says otherwise", false
	}
	return aboutOwn(gk), true
}

// OwnRules returns the kinds with their own rules, except the routes of the Gateway API, which are
// an open set.
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
		return "it is Ready, or has run to its end with success"
	case "PersistentVolumeClaim":
		return "it is Bound"
	case "PersistentVolume":
		return "it is Available, Bound or Released"
	case "Service":
		return "it exists; of type LoadBalancer: it has an address"
	case "Namespace":
		return "it is Active"
	case "Deployment":
		return "all replicas are up to date and available, no other is left, and its controller has found the rollout complete"
	case "ReplicaSet", "ReplicationController":
		return "all replicas are available, and none is surplus"
	case "StatefulSet":
		return "all replicas are available, and those that its strategy replaces are up to date"
	case "DaemonSet":
		return "on each node that is meant to run it, its Pod is available and up to date"
	case "Job":
		return "it is Complete"
	case "CronJob":
		return "it exists, suspended or not"
	case "HorizontalPodAutoscaler":
		return "it is able to scale and does, or its target is scaled to zero"
	case "PodDisruptionBudget":
		return "its Pods were counted"
	case "CustomResourceDefinition":
		return "it is Established"
	case "APIService":
		return "it is Available"
	case "CertificateSigningRequest":
		return "its certificate is issued"
	case "Gateway":
		return "it is Accepted and Programmed, and no listener objects"
	case "GatewayClass":
		return "it is Accepted"
	case "TaskRun", "PipelineRun", "CustomRun":
		return "it has Succeeded"
	case "Node":
		return "it is Ready"
	}
	return "each gateway that has answered accepts it, and finds what it refers to"
}
