package condition

import (
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtIn tells whether the API server itself serves the group. Kinds of these
// groups whose readiness nobody knows are ready once they exist; those of all
// others have to say so. (Groups such as gateway.networking.k8s.io are custom.)
func builtIn(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy", "extensions",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
		"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io",
		"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
		"scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io", "metrics.k8s.io":
		return true
	default:
		return false
	}
}

// ruleOf returns the rule of a kind; nil if it has none.
func ruleOf(kind schema.GroupKind) func(fields, time.Time) Verdict {
	timeless := func(rule func(fields) Verdict) func(fields, time.Time) Verdict {
		return func(f fields, _ time.Time) Verdict { return rule(f) }
	}
	switch kind.String() {
	case "Deployment.apps", "Deployment.extensions":
		return timeless(deployment(known(kind)))
	case "StatefulSet.apps":
		return timeless(statefulSet(known(kind)))
	case "DaemonSet.apps", "DaemonSet.extensions":
		return timeless(daemonSet(known(kind)))
	case "ReplicaSet.apps", "ReplicaSet.extensions":
		return timeless(observed(known(kind)))
	case "ReplicationController":
		return timeless(observed(replicationController))
	case "Pod":
		return pod
	case "Job.batch":
		return timeless(job)
	case "PersistentVolumeClaim":
		return timeless(claim(known(kind)))
	case "Service":
		return timeless(service(known(kind)))
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return timeless(known(kind))
	case "APIService.apiregistration.k8s.io":
		return timeless(needs("Available"))
	case "Node":
		return timeless(needs("Ready"))
	case "GatewayClass.gateway.networking.k8s.io":
		return timeless(needs("Accepted"))
	case "Gateway.gateway.networking.k8s.io":
		return timeless(needs("Programmed"))
	case "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io",
		"TLSRoute.gateway.networking.k8s.io", "TCPRoute.gateway.networking.k8s.io", "UDPRoute.gateway.networking.k8s.io":
		return timeless(route)
	default:
		return nil
	}
}

// known judges by kstatus's rule for the kind. What kstatus does for every kind
// (deletion, generation, Stalled, Reconciling) was looked at before.
func known(kind schema.GroupKind) func(fields) Verdict {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.WithVersion("v1"))
	rule := status.GetLegacyConditionsFn(u)
	return func(f fields) Verdict {
		result, err := rule(&unstructured.Unstructured{Object: f})
		if err != nil {
			return Verdict{Err: fmt.Errorf("read its status: %w", err)}
		}
		reason := ReasonInProgress
		if len(result.Conditions) > 0 && result.Conditions[0].Reason != "" {
			reason = result.Conditions[0].Reason
		}
		switch result.Status {
		case status.CurrentStatus:
			return Verdict{Met: true}
		case status.FailedStatus:
			return failed(reason, result.Message)
		default:
			return progress(reason, result.Message)
		}
	}
}

// observed is for kinds whose controller always says which generation it has
// seen: as long as it does not, all counts are zero for no reason.
func observed(rule func(fields) Verdict) func(fields) Verdict {
	return func(f fields) Verdict {
		if !f.has("status", "observedGeneration") {
			return progress(ReasonNotObserved, "its controller has not seen it yet")
		}
		return rule(f)
	}
}

// needs is for kinds of which one condition says whether they are ready, and
// which are not ready without it.
func needs(kind string) func(fields) Verdict {
	return func(f fields) Verdict {
		c, found := f.condition(kind)
		switch {
		case !found:
			return progress(ReasonNotObserved, "there is no condition "+kind+" yet")
		case c.stale:
			return progress(ReasonStaleStatus, c.kind+" speaks of an earlier generation")
		case c.status == "True":
			return Verdict{Met: true}
		default:
			return progress(c.reasonOr(ReasonInProgress), c.sentence())
		}
	}
}

// claim: a claim whose volume is lost will not get it back.
func claim(rule func(fields) Verdict) func(fields) Verdict {
	return func(f fields) Verdict {
		if f.text("status", "phase") == "Lost" {
			return failed(ReasonClaimLost, "its volume is lost")
		}
		return rule(f)
	}
}

// service: a load balancer is ready when it can be reached.
func service(rule func(fields) Verdict) func(fields) Verdict {
	return func(f fields) Verdict {
		v := rule(f)
		if v.Met && f.text("spec", "type") == "LoadBalancer" && len(f.list("status", "loadBalancer", "ingress")) == 0 {
			return progress(ReasonNoAddress, "the load balancer has no address yet")
		}
		return v
	}
}

// route: every gateway that it names has accepted it, and found what it refers to.
func route(f fields) Verdict {
	parents := f.list("status", "parents")
	if len(parents) == 0 {
		return progress(ReasonNotObserved, "no gateway has answered yet")
	}
	for _, item := range parents {
		parent, ok := item.(map[string]any)
		if !ok {
			continue
		}
		// The conditions of a parent are read as if they were the route's own.
		at := fields{"metadata": f["metadata"], "status": map[string]any{"conditions": parent["conditions"]}}
		for _, kind := range []string{"Accepted", "ResolvedRefs"} {
			if v := needs(kind)(at); !v.Met {
				v.Message = strings.TrimSpace("gateway " + fields(parent).text("parentRef", "name") + ": " + v.Message)
				return v
			}
		}
	}
	return Verdict{Met: true}
}
