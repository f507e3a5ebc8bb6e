package readiness

import "fmt"

// evaluateStatefulSet requires that all replicas are available, and that those that the
// update strategy replaces on its own are up to date.
func evaluateStatefulSet(s *subject) Verdict {
	if _, seen := s.whole("status.observedGeneration"); !seen {
		return unobserved(s)
	}
	want, replicas, ready := s.wanted("spec.replicas"), s.count("status.replicas"), s.count("status.readyReplicas")
	available, tells := s.whole("status.availableReplicas")
	switch {
	case replicas > want:
		return unmet("InProgress", surplus(replicas-want, "surplus"), s.values("status.replicas", "spec.replicas")...)
	case ready < want:
		return unmet("InProgress", ofReplicas(ready, want, "ready"), s.values("status.readyReplicas", "spec.replicas")...)
	case tells && available < want:
		return unmet("InProgress", ofReplicas(available, want, "available"), s.values("status.availableReplicas", "spec.replicas")...)
	}
	return statefulSetRevision(s, want)
}

func statefulSetRevision(s *subject, want int64) Verdict {
	updated, partition := s.count("status.updatedReplicas"), s.count("spec.updateStrategy.rollingUpdate.partition")
	if s.text("status.currentRevision") == s.text("status.updateRevision") {
		// No rollout is under way, so the current replicas are up to date.
		updated = max(updated, s.count("status.currentReplicas"))
	}
	if s.text("spec.updateStrategy.type") == "OnDelete" {
		return met(ofReplicas(want, want, "ready")+onDelete(want-updated),
			s.values("status.readyReplicas", "spec.replicas", "status.updatedReplicas", "spec.updateStrategy.type")...)
	}
	if needed := max(0, want-partition); updated < needed {
		return unmet("InProgress", ofReplicas(updated, needed, "up to date")+heldBack(partition),
			s.values("status.updatedReplicas", "spec.replicas", "spec.updateStrategy.rollingUpdate.partition")...)
	}
	return met(ofReplicas(want, want, "ready")+heldBack(min(partition, want-updated)),
		s.values("status.readyReplicas", "spec.replicas", "status.updatedReplicas")...)
}

// onDelete reports Pods that stay old until they are deleted.
func onDelete(old int64) string {
	if old <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d old until deleted (OnDelete)", old)
}

// heldBack reports Pods that stay old because of the partition.
func heldBack(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; the partition keeps %d old", n)
}

// evaluateDaemonSet also calls a DaemonSet ready that has no Pods because no node is meant
// to run one (edge case 52).
func evaluateDaemonSet(s *subject) Verdict {
	if _, seen := s.whole("status.observedGeneration"); !seen {
		return unobserved(s)
	}
	want, tells := s.whole("status.desiredNumberScheduled")
	if !tells {
		return unmet("NoStatus", "on how many nodes it is to run is not known yet", s.values("status.desiredNumberScheduled")...)
	}
	current, updated := s.count("status.currentNumberScheduled"), s.count("status.updatedNumberScheduled")
	ready, available := s.count("status.numberReady"), s.count("status.numberAvailable")
	onDeletion := s.text("spec.updateStrategy.type") == "OnDelete"
	nodes := func(n int64, are string) string { return fmt.Sprintf("on %d of %d nodes its Pod is %s", n, want, are) }
	short := func(path, message string) Verdict {
		return unmet("InProgress", message, s.values(path, "status.desiredNumberScheduled")...)
	}
	switch {
	case want == 0:
		return met("no node is meant to run it", s.values("status.desiredNumberScheduled")...)
	case current < want:
		return short("status.currentNumberScheduled", nodes(current, "there"))
	case updated < want && !onDeletion:
		return short("status.updatedNumberScheduled", nodes(updated, "up to date"))
	case available < want:
		return short("status.numberAvailable", nodes(available, "available"))
	case ready < want:
		return short("status.numberReady", nodes(ready, "ready"))
	}
	message := nodes(available, "available")
	if onDeletion {
		message += onDelete(want - updated)
	}
	return met(message, s.values("status.numberAvailable", "status.desiredNumberScheduled", "status.updatedNumberScheduled")...)
}
