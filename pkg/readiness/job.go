package readiness

import "fmt"

// evaluateJob calls a Job ready once it has completed. A running Job is not ready.
func evaluateJob(s *subject) Verdict {
	tally := fmt.Sprintf("Pods: %d succeeded, %d failed, %d running", s.count("status.succeeded"), s.count("status.failed"), s.count("status.active"))
	counts := s.values("status.succeeded", "status.failed", "status.active")
	for _, kind := range []string{"Failed", "FailureTarget"} {
		// FailureTarget comes first: the failure is decided, and the Pods are being
		// stopped.
		if c := s.condition(kind); c.is("True") {
			return failed("JobFailed", "it has failed"+c.told()+"; "+tally, append(counts, c.value())...)
		}
	}
	if c := s.condition("Complete"); c.is("True") {
		return met("it is complete: "+tally, append(counts, c.value())...)
	}
	if c := s.condition("SuccessCriteriaMet"); c.is("True") {
		return unmet("InProgress", "it has succeeded, and its last Pods are being stopped: "+tally, append(counts, c.value())...)
	}
	if s.yes("spec.suspend") {
		return unmet("Suspended", "it is suspended: it runs no Pods", s.values("spec.suspend")...)
	}
	if s.text("status.startTime") == "" {
		return unmet("NoStatus", "it has not started yet", s.values("status.startTime")...)
	}
	return unmet("InProgress", "it still runs: "+tally, counts...)
}

// evaluateRun is Tekton's convention for what runs once: Succeeded is Unknown while it
// runs, and False is the end.
func evaluateRun(s *subject) Verdict {
	c := s.condition("Succeeded")
	if c.is("False") {
		return failed("Failed", "it has failed"+c.told(), c.value())
	}
	return needs("Succeeded")(s)
}
