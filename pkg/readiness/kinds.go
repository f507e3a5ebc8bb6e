package readiness

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// kind is a kind with a rule of its own.
type kind struct {
	group, kind string
	rule        func(*subject) Verdict
	// about describes in words when the rule is met.
	about string
}

const gatewayGroup = "gateway.networking.k8s.io"

// kinds returns the table of all kinds that have rules of their own, except unknown routes of the
// Gateway API (see [kindOf]).
func kinds() []kind {
	const (
		replicas = "all replicas are available, and none is surplus"
		run      = "it has Succeeded"
	)
	all := []kind{
		{"", "Pod", evaluatePod, "it is Ready, or has completed successfully"},
		{"", "ReplicationController", evaluateReplicaSet, replicas},
		{"", "PersistentVolumeClaim", evaluateClaim, "it is Bound"},
		{"", "PersistentVolume", evaluateVolume, "it is Available, Bound or Released"},
		{"", "Service", evaluateService, "it exists and, if its type is LoadBalancer, has an address"},
		{"", "Namespace", evaluateNamespace, "it is Active"},
		{"", "Node", needs("Ready"), "it is Ready"},
		{
			"apps", "Deployment", evaluateDeployment,
			"all replicas are up to date and available, no old one is left, and its controller reports the rollout as complete",
		},
		{"apps", "ReplicaSet", evaluateReplicaSet, replicas},
		{"apps", "StatefulSet", evaluateStatefulSet, "all replicas are available, and those that its strategy replaces are up to date"},
		{"apps", "DaemonSet", evaluateDaemonSet, "its Pod is available and up to date on each node that should run it"},
		{"batch", "Job", evaluateJob, "it is Complete"},
		{"batch", "CronJob", exists, "it exists, suspended or not"},
		{"autoscaling", "HorizontalPodAutoscaler", evaluateAutoscaler, "it is AbleToScale and ScalingActive, or its target is scaled to zero"},
		{"policy", "PodDisruptionBudget", evaluateDisruptionBudget, "its Pods have been counted"},
		{"apiextensions.k8s.io", "CustomResourceDefinition", evaluateDefinition, "it is Established"},
		{"apiregistration.k8s.io", "APIService", needs("Available"), "it is Available"},
		{"certificates.k8s.io", "CertificateSigningRequest", evaluateSigningRequest, "its certificate is issued"},
		{"tekton.dev", "TaskRun", evaluateRun, run},
		{"tekton.dev", "PipelineRun", evaluateRun, run},
		{"tekton.dev", "CustomRun", evaluateRun, run},
		{gatewayGroup, "Gateway", unopposed(evaluateGateway), "it is Accepted and Programmed, and no listener reports a problem"},
		{gatewayGroup, "GatewayClass", unopposed(needs("Accepted")), "it is Accepted"},
	}
	for _, route := range []string{"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"} {
		all = append(all, routeOf(route))
	}
	return all
}

func routeOf(name string) kind {
	return kind{gatewayGroup, name, unopposed(evaluateRoute), "each gateway that has answered accepts it and resolves its references"}
}

// kindOf returns the row of a kind; own is false if there is none. Every kind of route in the Gateway
// API has the same rule.
func kindOf(gk schema.GroupKind) (row kind, own bool) {
	for _, k := range kinds() {
		if k.group == gk.Group && k.kind == gk.Kind {
			return k, true
		}
	}
	if gk.Group == gatewayGroup && strings.HasSuffix(gk.Kind, "Route") {
		return routeOf(gk.Kind), true
	}
	return kind{}, false
}

func ruleOf(gk schema.GroupKind) func(*subject) Verdict {
	row, _ := kindOf(gk)
	return row.rule
}

// About describes in words when objects of a kind are ready, and reports whether the kind has a
// rule of its own.
func About(gk schema.GroupKind) (text string, own bool) {
	row, own := kindOf(gk)
	switch {
	case own:
		return row.about, true
	case object.IsBuiltIn(gk.Group):
		return "it exists, and nothing in its status says that it is not ready", false
	}
	return "something in its status says that it is ready, and nothing in it says otherwise", false
}

// OwnRules returns the kinds that have rules of their own. For the routes of the Gateway API, it
// returns only the known kinds, although every other kind of route has a rule, too.
func OwnRules() []schema.GroupKind {
	var all []schema.GroupKind
	for _, k := range kinds() {
		all = append(all, schema.GroupKind{Group: k.group, Kind: k.kind})
	}
	return all
}
