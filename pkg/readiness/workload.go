package readiness

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// evaluateDeployment applies the requirements of "kubectl rollout status", and also requires the
// controller to have observed the spec.
func evaluateDeployment(s *subject) Verdict {
	want, paused := s.wanted("spec.replicas"), s.isTrue("spec.paused")
	if _, seen := s.integer("status.observedGeneration"); !seen {
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
	// If the deadline is unset or has the largest possible value, the controller does not update
	// Progressing.
	seconds, set := s.integer("spec.progressDeadlineSeconds")
	if !paused && set && seconds != math.MaxInt32 && (!progressing.is("True") || progressing.reason != "NewReplicaSetAvailable") {
		return unmet("InProgress", "its controller does not yet report the rollout as complete"+progressing.detail(), progressing.value())
	}
	if available := s.condition("Available"); !available.is("True") {
		return unmet("InProgress", "it is not available"+available.detail(), available.value())
	}
	if paused {
		return unmet("Paused", "it is paused: changes are not rolled out; "+ofReplicas(s.count("status.availableReplicas"), want, "available"),
			s.values("spec.paused", "status.availableReplicas", "spec.replicas")...)
	}
	return met(ofReplicas(s.count("status.availableReplicas"), want, "available"), s.values("status.availableReplicas", "spec.replicas")...)
}

// deadlineExceeded handles a Deployment whose controller has given up. If the spec was changed
// after that, the deadline starts anew for the new spec. If a Deployment is scaled or returns to an
// old ReplicaSet, the controller keeps the condition until there is progress
// (https://github.com/kubernetes/kubernetes/issues/40496).
func deadlineExceeded(s *subject, want int64, progressing statusCondition) Verdict {
	seconds := s.count("spec.progressDeadlineSeconds")
	short, _ := deploymentShort(s, want)
	message := fmt.Sprintf("it made no progress within its progressDeadlineSeconds (%d s)", seconds)
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

// evaluateReplicaSet also evaluates ReplicationControllers, which have the same status.
func evaluateReplicaSet(s *subject) Verdict {
	want, replicas, available := s.wanted("spec.replicas"), s.count("status.replicas"), s.count("status.availableReplicas")
	ready, labelled := s.count("status.readyReplicas"), s.count("status.fullyLabeledReplicas")
	if _, seen := s.integer("status.observedGeneration"); !seen {
		return unobserved(s)
	}
	if c := s.condition("ReplicaFailure"); c.is("True") {
		return unmet("ReplicaFailure", ofReplicas(replicas, want, "created")+refused(s), append(s.values("status.replicas", "spec.replicas"), c.value())...)
	}
	switch {
	case replicas > want:
		return unmet("InProgress", surplus(replicas-want, "surplus"), s.values("status.replicas", "spec.replicas")...)
	case labelled < want:
		return unmet("InProgress", ofReplicas(labelled, want, "created with the template's labels"), s.values("status.fullyLabeledReplicas", "spec.replicas")...)
	case ready < want:
		return unmet("InProgress", ofReplicas(ready, want, "ready"), s.values("status.readyReplicas", "spec.replicas")...)
	case available < want:
		return unmet("InProgress", ofReplicas(available, want, "available"), s.values("status.availableReplicas", "spec.replicas")...)
	}
	return met(ofReplicas(available, want, "available"), s.values("status.availableReplicas", "spec.replicas")...)
}

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
	return unmet("NoStatus", "no controller has handled it yet", s.values("status.observedGeneration")...)
}

// saysSomething reports whether a controller has written the status. For some kinds, the API server
// fills in zeros when it creates the object.
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

func surplus(n int64, which string) string {
	if n == 1 {
		return "1 " + which + " replica is left"
	}
	return fmt.Sprintf("%d %s replicas are left", n, which)
}

func evaluateStatefulSet(s *subject) Verdict {
	if _, seen := s.integer("status.observedGeneration"); !seen {
		return unobserved(s)
	}
	want, replicas, ready := s.wanted("spec.replicas"), s.count("status.replicas"), s.count("status.readyReplicas")
	available, reports := s.integer("status.availableReplicas")
	switch {
	case replicas > want:
		return unmet("InProgress", surplus(replicas-want, "surplus"), s.values("status.replicas", "spec.replicas")...)
	case ready < want:
		return unmet("InProgress", ofReplicas(ready, want, "ready"), s.values("status.readyReplicas", "spec.replicas")...)
	case reports && available < want:
		return unmet("InProgress", ofReplicas(available, want, "available"), s.values("status.availableReplicas", "spec.replicas")...)
	}
	return statefulSetRevision(s, want)
}

func statefulSetRevision(s *subject, want int64) Verdict {
	updated, partition := s.count("status.updatedReplicas"), s.count("spec.updateStrategy.rollingUpdate.partition")
	if s.text("status.currentRevision") == s.text("status.updateRevision") {
		// No rollout is in progress, so the current replicas are up to date.
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

func onDelete(old int64) string {
	if old <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d remain outdated until deleted (OnDelete)", old)
}

func heldBack(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; the partition holds back %d", n)
}

// evaluateDaemonSet also accepts a DaemonSet without Pods if no node should run its Pods (edge case
// 52).
func evaluateDaemonSet(s *subject) Verdict {
	if _, seen := s.integer("status.observedGeneration"); !seen {
		return unobserved(s)
	}
	want, reports := s.integer("status.desiredNumberScheduled")
	if !reports {
		return unmet("NoStatus", "it is not known yet how many nodes should run its Pod", s.values("status.desiredNumberScheduled")...)
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
		return met("no node should run its Pod", s.values("status.desiredNumberScheduled")...)
	case current < want:
		return short("status.currentNumberScheduled", nodes(current, "scheduled"))
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

// counts reads a count together with its total: readyReplicas of replicas, readyInstances of
// instances, numberReady of desiredNumberScheduled. If both the spec and the status contain the
// total, the higher number is used.
func (r *reader) counts(path, within string, spec, fields map[string]any) {
	for _, name := range sortedKeys(fields) {
		n, ok := number(fields[name])
		which, of := countOf(name)
		if !ok || which == "" {
			continue
		}
		s := Statement{Path: path + "." + name, Name: name, Within: within, Value: n, Meaning: Working}
		if which == "unavailable" {
			if n > 0 {
				r.out = append(r.out, s)
			}
			continue
		}
		if total, found := totalOf(of, spec, fields); found {
			s.Value, s.Meaning = fmt.Sprintf("%d of %d", n, total), enough(n, total)
			if wanted, declared := number(spec[of]); declared && wanted == 0 && n == 0 && total == 0 && r.observed {
				s.Meaning = Good
			}
			r.out = append(r.out, s)
		}
	}
	wanted, declared := number(spec["replicas"])
	if n, ok := number(fields["replicas"]); ok && declared && n > wanted {
		r.out = append(r.out, Statement{Path: path + ".replicas", Name: "replicas", Within: within, Value: fmt.Sprintf("%d, but %d wanted", n, wanted), Meaning: Working})
	}
}

func number(v any) (int64, bool) {
	if _, isText := v.(string); isText {
		return 0, false
	}
	return object.WholeNumber(v)
}

// countOf splits the name of a count: readyReplicas into ready and replicas.
func countOf(name string) (which, of string) {
	for _, which := range []string{"ready", "available", "updated", "upToDate", "unavailable", "healthy"} {
		if rest, ok := strings.CutPrefix(name, which); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			return which, strings.ToLower(rest[:1]) + rest[1:]
		}
	}
	switch name {
	case "numberReady", "numberAvailable":
		return "ready", "numberScheduled"
	case "ready":
		return "ready", "size"
	case "currentHealthy", "currentReady":
		return "healthy", name[len("current"):]
	}
	return "", ""
}

func totalOf(of string, spec, fields map[string]any) (int64, bool) {
	title := strings.ToUpper(of[:1]) + of[1:]
	wanted := []any{fields[of], fields["desired"+title], fields["total"+title], fields["matched"+title], fields["expected"+title]}
	if of == title { // currentHealthy does not name what it counts, so use every field that begins with "expected".
		for name, v := range fields {
			if strings.HasPrefix(name, "expected") {
				wanted = append(wanted, v)
			}
		}
	}
	if slices.Contains(totals(), of) {
		wanted = append(wanted, spec[of])
	}
	var total int64
	found := false
	for _, v := range wanted {
		if n, ok := number(v); ok {
			total, found = max(total, n), true
		}
	}
	return total, found
}

func totals() []string { return []string{"replicas", "instances", "nodes", "members"} }
