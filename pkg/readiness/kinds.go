package readiness

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ruleOf returns the rule of a kind that has one of its own, or nil.
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
		return exists // Suspended or not, it is as its author wants it, and has nothing to wait for.
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
