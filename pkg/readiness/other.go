package readiness

import (
	"fmt"
	"slices"
)

// evaluateClaim requires a claim to be bound. A claim whose storage class waits for the first
// consumer stays Pending until a Pod uses it.
func evaluateClaim(s *subject) Verdict {
	switch phase := s.text("status.phase"); phase {
	case "Bound":
		return met("it is bound", s.values("status.phase", "spec.volumeName")...)
	case "Lost":
		return failed("ClaimLost", "the volume that it was bound to no longer exists, or belongs to another claim", s.values("status.phase", "spec.volumeName")...)
	case "":
		return unmet("NoStatus", "no controller has handled it yet", s.values("status.phase")...)
	default:
		return unmet("InProgress", "it has no volume yet; if its storage class waits for the first consumer, it gets one when a Pod uses it",
			s.values("status.phase", "spec.volumeName")...)
	}
}

func evaluateVolume(s *subject) Verdict {
	phase := s.text("status.phase")
	switch phase {
	case "Failed":
		return failed("VolumeFailed", "it could not be reclaimed"+podMessage(s), s.values("status.phase")...)
	case "Available", "Bound", "Released":
		return met("its phase is "+phase, s.values("status.phase")...)
	}
	return unmet("InProgress", "it is not available yet", s.values("status.phase")...)
}

// evaluateService requires a load balancer to have an address. Helm requires that too; kstatus does
// not.
func evaluateService(s *subject) Verdict {
	if s.text("spec.type") != "LoadBalancer" {
		return met("it exists")
	}
	external, _ := at(s.obj, "spec.externalIPs")
	if list, _ := external.([]any); len(list) > 0 {
		return met("it has external addresses", s.values("spec.externalIPs")...)
	}
	if slices.ContainsFunc(s.maps("status.loadBalancer.ingress"), func(one map[string]any) bool { return len(one) > 0 }) {
		return met("its load balancer has an address", s.values("status.loadBalancer.ingress")...)
	}
	return unmet("InProgress", "its load balancer has no address yet", s.values("spec.type", "status.loadBalancer.ingress")...)
}

func exists(*subject) Verdict { return met("it exists") }

// An approved request is not ready until its certificate has been issued.
func evaluateSigningRequest(s *subject) Verdict {
	for _, kind := range []string{"Denied", "Failed"} {
		if c := s.condition(kind); c.is("True") {
			return failed(kind, "its condition "+kind+" is True"+c.detail(), c.value())
		}
	}
	if s.text("status.certificate") != "" {
		return met("its certificate is issued")
	}
	if c := s.condition("Approved"); c.is("True") {
		return unmet("InProgress", "it is approved, but its certificate is not issued yet", c.value())
	}
	return unmet("InProgress", "it is not approved yet", s.values("status.certificate")...)
}

func evaluateNamespace(s *subject) Verdict {
	if s.text("status.phase") == "Active" {
		return met("it is active", s.values("status.phase")...)
	}
	return unmet("InProgress", "it is not active", s.values("status.phase")...)
}

// evaluateDisruptionBudget requires the controller to have counted the Pods. A budget is ready even
// if it allows no disruptions.
func evaluateDisruptionBudget(s *subject) Verdict {
	if _, seen := s.integer("status.observedGeneration"); !seen {
		return unobserved(s)
	}
	if c := s.condition("DisruptionAllowed"); c.is("False") && c.reason == "SyncFailed" {
		return unmet("InProgress", "its Pods cannot be counted"+c.detail(), c.value())
	}
	return met(fmt.Sprintf("disruptions allowed: %d", s.count("status.disruptionsAllowed")), s.values("status.disruptionsAllowed")...)
}

func evaluateDefinition(s *subject) Verdict {
	if c := s.condition("NamesAccepted"); c.is("False") {
		return failed("NamesNotAccepted", "its names are not accepted"+c.detail(), c.value())
	}
	c := s.condition("Established")
	if c.is("True") {
		return met("it is established", c.value())
	}
	return unmet("InProgress", "it is not established yet"+c.detail(), c.value())
}

// evaluateGateway also accepts the conditions that the first versions of the Gateway API used.
func evaluateGateway(s *subject) Verdict {
	if !s.condition("Programmed").exists() && s.condition("Ready").exists() {
		return needs("Ready")(s)
	}
	return needs("Accepted", "Programmed")(s)
}

// evaluateRoute requires that every gateway that has responded has accepted the route. A gateway
// that reports on the route's references must also have resolved them.
func evaluateRoute(s *subject) Verdict {
	parents := s.maps("status.parents")
	if len(parents) == 0 {
		return unmet("NoStatus", "no gateway has answered yet", s.values("status.parents")...)
	}
	var values []Value
	for _, parent := range parents {
		message := &subject{generation: s.generation, conditions: conditionsAt(parent, s.generation, "conditions")}
		kinds := []string{"Accepted"}
		if message.condition("ResolvedRefs").exists() {
			kinds = append(kinds, "ResolvedRefs")
		}
		v := needs(kinds...)(message)
		name := textAt(parent, "parentRef.name")
		for i := range v.Values {
			v.Values[i].Expr = `self.status.parents[parentRef.name="` + name + `"].` + v.Values[i].Expr[len("self."):]
		}
		if !v.Ready {
			v.Message = "gateway " + name + ": " + v.Message
			return v
		}
		values = append(values, v.Values...)
	}
	return met("each of its gateways accepts it", values[:min(len(values), 4)]...)
}
