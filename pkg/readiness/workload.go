package readiness

import (
	"fmt"
	"math"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// evaluateDeployment requires what "kubectl rollout status" requires, and that the
// controller has noticed it.
func evaluateDeployment(s *subject) Verdict {
	want, paused := s.wanted("spec.replicas"), s.yes("spec.paused")
	if _, seen := s.whole("status.observedGeneration"); !seen {
		return unobserved(s)
	}
	progressing := s.condition("Progressing")
	var recheck time.Duration
	if progressing.is("False") && progressing.reason == "ProgressDeadlineExceeded" && !paused {
		v := deadlineExceeded(s, want, progressing)
		if v.Failed {
			return v
		}
		recheck = v.Recheck
	}
	if v, short := deploymentShort(s, want); short {
		if paused && s.count("status.updatedReplicas") < max(want, s.count("status.replicas")) {
			v.Reason, v.Message = "Paused", "it is paused: "+v.Message
			v.Values = append(s.values("spec.paused"), v.Values...)
		}
		v.Recheck = recheck
		return v
	}
	if !paused && hasDeadline(s) && (!progressing.is("True") || progressing.reason != "NewReplicaSetAvailable") {
		return unmet("InProgress", "its rollout has not been found complete yet"+progressing.detail(), progressing.value())
	}
	if available := s.condition("Available"); !available.is("True") {
		return unmet("InProgress", "it is not available"+available.detail(), available.value())
	}
	if paused {
		return unmet("Paused", "it is paused: no change is rolled out; "+ofReplicas(s.count("status.availableReplicas"), want, "available"),
			s.values("spec.paused", "status.availableReplicas", "spec.replicas")...)
	}
	return met(ofReplicas(s.count("status.availableReplicas"), want, "available"), s.values("status.availableReplicas", "spec.replicas")...)
}

// deadlineExceeded covers a Deployment whose controller has given up, unless it did so for
// an older spec: the controller leaves the condition as it is when a new generation makes
// it scale, or return to an old ReplicaSet, until that makes progress
// (https://github.com/kubernetes/kubernetes/issues/40496). The new spec gets the whole
// deadline.
func deadlineExceeded(s *subject, want int64, progressing statusCondition) Verdict {
	seconds := s.count("spec.progressDeadlineSeconds")
	short, _ := deploymentShort(s, want)
	message := fmt.Sprintf("it made no progress for %d s, its progressDeadlineSeconds", seconds)
	if short.Message != "" {
		message += ": " + short.Message
	}
	v := unmet("ProgressDeadlineExceeded", message, append(short.Values, progressing.value())...)
	if changed := specChanged(s); !progressing.updated.IsZero() && changed.After(progressing.updated) {
		return s.lasting(changed, time.Duration(seconds)*time.Second, v)
	}
	v.Failed = true
	return v
}

// deploymentShort reports replicas that are missing, outdated or surplus.
func deploymentShort(s *subject, want int64) (Verdict, bool) {
	replicas, updated, available := s.count("status.replicas"), s.count("status.updatedReplicas"), s.count("status.availableReplicas")
	switch {
	case updated < want:
		return unmet("InProgress", ofReplicas(updated, want, "up to date")+refused(s),
			s.values("status.updatedReplicas", "spec.replicas")...), true
	case replicas > updated:
		return unmet("InProgress", surplus(replicas-updated, "old"),
			s.values("status.replicas", "status.updatedReplicas")...), true
	case replicas > want:
		return unmet("InProgress", surplus(replicas-want, "surplus"),
			s.values("status.replicas", "spec.replicas")...), true
	case available < want:
		return unmet("InProgress", ofReplicas(available, want, "available"),
			s.values("status.availableReplicas", "spec.replicas")...), true
	}
	return Verdict{}, false
}

// hasDeadline reports whether the controller keeps the condition Progressing up to date.
// It treats the highest number as no deadline.
func hasDeadline(s *subject) bool {
	seconds, set := s.whole("spec.progressDeadlineSeconds")
	return set && seconds != math.MaxInt32
}

// evaluateReplicaSet also evaluates ReplicationControllers: their status is the same.
func evaluateReplicaSet(s *subject) Verdict {
	want, replicas, available := s.wanted("spec.replicas"), s.count("status.replicas"), s.count("status.availableReplicas")
	ready, labelled := s.count("status.readyReplicas"), s.count("status.fullyLabeledReplicas")
	if _, seen := s.whole("status.observedGeneration"); !seen {
		return unobserved(s)
	}
	if c := s.condition("ReplicaFailure"); c.is("True") {
		return unmet("ReplicaFailure", ofReplicas(replicas, want, "created")+refused(s), append(s.values("status.replicas", "spec.replicas"), c.value())...)
	}
	switch {
	case replicas > want:
		return unmet("InProgress", surplus(replicas-want, "surplus"), s.values("status.replicas", "spec.replicas")...)
	case labelled < want:
		return unmet("InProgress", ofReplicas(labelled, want, "created, with the labels of the template"), s.values("status.fullyLabeledReplicas", "spec.replicas")...)
	case ready < want:
		return unmet("InProgress", ofReplicas(ready, want, "ready"), s.values("status.readyReplicas", "spec.replicas")...)
	case available < want:
		return unmet("InProgress", ofReplicas(available, want, "available"), s.values("status.availableReplicas", "spec.replicas")...)
	}
	return met(ofReplicas(available, want, "available"), s.values("status.availableReplicas", "spec.replicas")...)
}

// refused returns the reason why the API server did not admit new Pods.
func refused(s *subject) string {
	if c := s.condition("ReplicaFailure"); c.is("True") {
		return "; Pods cannot be created" + c.detail()
	}
	return ""
}

func unobserved(s *subject) Verdict {
	if inStatus, _ := at(s.obj, "status"); saysSomething(inStatus) {
		return unmet("StaleStatus", "its status does not say for which generation it was written", s.values("status.observedGeneration", "metadata.generation")...)
	}
	return unmet("NoStatus", "no controller has looked at it yet", s.values("status.observedGeneration")...)
}

// saysSomething reports whether a status is more than the zeros with which the API server
// creates some kinds.
func saysSomething(status any) bool {
	fields, _ := status.(map[string]any)
	for _, v := range fields {
		n, isNumber := object.WholeNumber(v)
		if !isNumber && v != nil || n != 0 {
			return true
		}
	}
	return false
}

func ofReplicas(n, of int64, are string) string {
	if of == 1 {
		return fmt.Sprintf("%d of 1 replica is %s", n, are)
	}
	return fmt.Sprintf("%d of %d replicas are %s", n, of, are)
}

// surplus says how many Pods still have to go.
func surplus(n int64, which string) string {
	if n == 1 {
		return "1 " + which + " replica is still there"
	}
	return fmt.Sprintf("%d %s replicas are still there", n, which)
}
