package condition

import "fmt"

// deployment: edge case 52.
func deployment(rule func(fields) Verdict) func(fields) Verdict {
	return observed(func(f fields) Verdict {
		if c, found := f.condition("Progressing"); found && c.reason == "ProgressDeadlineExceeded" && c.status == "False" {
			return failed(ReasonProgressDeadline, c.sentence())
		}
		if f.flag("spec", "paused") {
			return pausedDeployment(f)
		}
		return rule(f)
	})
}

// pausedDeployment: pausing stops the roll-out of a new template, nothing else. A
// Deployment that has nothing to roll out is as ready as any other.
func pausedDeployment(f fields) Verdict {
	want := f.number(1, "spec", "replicas")
	there := f.number(0, "status", "replicas")
	updated := f.number(0, "status", "updatedReplicas")
	available := f.number(0, "status", "availableReplicas")
	switch {
	case updated >= want && there <= want && available >= want:
		return Verdict{Met: true}
	case updated < want && there >= want:
		// All pods are there and some are of an older template: that is how it
		// stays.
		return failed(ReasonPaused, fmt.Sprintf("is paused with %d of %d replicas updated; kubectl rollout resume goes on", updated, want))
	default:
		return progress(ReasonPaused, fmt.Sprintf("is paused with %d of %d replicas updated, %d available", updated, want, available))
	}
}

// statefulSet: edge case 52, and minReadySeconds, which kstatus does not know.
func statefulSet(rule func(fields) Verdict) func(fields) Verdict {
	return observed(func(f fields) Verdict {
		want := f.number(1, "spec", "replicas")
		if f.text("spec", "updateStrategy", "type") == "OnDelete" {
			return onDelete(want, f.number(0, "status", "readyReplicas"), f.number(0, "status", "replicas"))
		}
		v := rule(f)
		if available := f.number(0, "status", "availableReplicas"); v.Met && f.number(0, "spec", "minReadySeconds") > 0 && available < want {
			return progress("LessAvailable", fmt.Sprintf("Available: %d/%d", available, want))
		}
		return v
	})
}

// daemonSet: edge case 52. Where no node is meant there is nothing to wait for,
// which kstatus gets right.
func daemonSet(rule func(fields) Verdict) func(fields) Verdict {
	return observed(func(f fields) Verdict {
		if f.text("spec", "updateStrategy", "type") != "OnDelete" || !f.has("status", "desiredNumberScheduled") {
			return rule(f)
		}
		return onDelete(f.number(0, "status", "desiredNumberScheduled"),
			f.number(0, "status", "numberAvailable"), f.number(0, "status", "currentNumberScheduled"))
	})
}

// onDelete judges workloads whose pods are updated by whoever deletes them: which
// template a pod is of does not matter, that it is there and ready does.
func onDelete(want, ready, there int64) Verdict {
	switch {
	case there > want:
		return progress("ExtraPods", fmt.Sprintf("Pending termination: %d", there-want))
	case ready < want:
		return progress("LessReady", fmt.Sprintf("Ready: %d/%d", ready, want))
	default:
		return Verdict{Met: true}
	}
}

// replicationController is what a ReplicaSet was before; kstatus does not know it.
func replicationController(f fields) Verdict {
	want := f.number(1, "spec", "replicas")
	if c, found := f.condition("ReplicaFailure"); found && c.status == "True" {
		return progress("ReplicaFailure", c.sentence())
	}
	if available := f.number(0, "status", "availableReplicas"); available < want {
		return progress("LessAvailable", fmt.Sprintf("Available: %d/%d", available, want))
	}
	if there := f.number(0, "status", "replicas"); there > want {
		return progress("ExtraPods", fmt.Sprintf("Pending termination: %d", there-want))
	}
	return Verdict{Met: true}
}

// job: ready when it is complete. kstatus calls a running Job current, so that
// whoever waits for it learns of its failure from somebody else (edge case 46).
func job(f fields) Verdict {
	for _, kind := range []string{"Failed", "FailureTarget"} {
		if c, found := f.condition(kind); found && c.status == "True" {
			return failed(ReasonJobFailed, c.sentence())
		}
	}
	if c, found := f.condition("Complete"); found && c.status == "True" {
		return Verdict{Met: true}
	}
	if f.flag("spec", "suspend") {
		return progress(ReasonSuspended, "is suspended")
	}
	if !f.has("status", "startTime") {
		return progress(ReasonJobNotStarted, "has not started yet")
	}
	want := f.number(f.number(1, "spec", "parallelism"), "spec", "completions")
	return progress(ReasonInProgress, fmt.Sprintf("succeeded %d/%d, active %d, failed %d",
		f.number(0, "status", "succeeded"), want, f.number(0, "status", "active"), f.number(0, "status", "failed")))
}
