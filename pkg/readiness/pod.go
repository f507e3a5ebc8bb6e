package readiness

import (
	"fmt"
	"time"
)

// scheduleGrace is how long a Pod may be unschedulable before it has failed: a new Pod is,
// until its volumes and node are there. It equals kstatus's ScheduleWindow.
const scheduleGrace = 15 * time.Second

func evaluatePod(s *subject) Verdict {
	phase, ready := s.text("status.phase"), s.condition("Ready")
	switch {
	case phase == "":
		return unmet("NoStatus", "it has no phase yet", s.values("status.phase")...)
	case phase == "Succeeded":
		return met("it has run to its end, with success", s.values("status.phase")...)
	case phase == "Failed":
		return failed("PodFailed", "it has failed"+podSaid(s), s.values("status.phase", "status.reason")...)
	case ready.is("True"):
		return met("it is ready", ready.value())
	}
	if v, stuck := evaluateContainers(s); stuck {
		return v
	}
	if c := s.condition("PodScheduled"); c.is("False") {
		return evaluateUnscheduled(s, c)
	}
	all := s.maps("status.containerStatuses")
	up := 0
	for _, c := range all {
		if is, _ := c["ready"].(bool); is {
			up++
		}
	}
	message := "it is not ready"
	if len(all) > 0 && up < len(all) {
		message = fmt.Sprintf("%d of %d containers ready", up, len(all))
	} else if len(all) > 0 {
		message += ready.detail() // Its readiness gates are not passed.
	}
	if last, crashed := lastCrash(s); crashed {
		return unmet("InProgress", message+"; "+last.Message, append([]Value{ready.value()}, last.Values...)...)
	}
	return unmet("InProgress", message+waiting(s), append(s.values("status.phase"), ready.value())...)
}

// podSaid returns the kubelet's reason for a failed Pod: Evicted, for instance.
func podSaid(s *subject) string {
	return statusCondition{reason: s.text("status.reason"), message: s.text("status.message")}.detail()
}

func evaluateUnscheduled(s *subject, c statusCondition) Verdict {
	v := unmet(c.reason, "it has no node"+c.detail(), append(s.values("status.phase"), c.value())...)
	if c.reason == "" {
		v.Reason = "InProgress"
	}
	// If a node is nominated, other Pods are being evicted to make room.
	if c.reason != "Unschedulable" || s.text("status.nominatedNodeName") != "" {
		return v
	}
	return s.lasting(latest(s.time("metadata.creationTimestamp"), c.when), scheduleGrace, v)
}
