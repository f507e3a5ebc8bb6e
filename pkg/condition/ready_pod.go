package condition

import (
	"fmt"
	"time"
)

const (
	// patience is how long a pod may be in a state that passes more often than
	// not: no node for it (one may be on its way), an image that can not be pulled,
	// a ConfigMap that is missing.
	patience = 2 * time.Minute
	// crashPatience is how long a container may wait to be started again. kubelet
	// waits 10, 20, 40, 80… seconds, and starts over when a container has run for
	// ten minutes: who has waited a minute has crashed four times in a row.
	crashPatience = time.Minute
)

// pod: a pod is ready when it runs and is Ready, or has ended well.
func pod(f fields, now time.Time) Verdict {
	phase := f.text("status", "phase")
	switch phase {
	case "Succeeded":
		return Verdict{Met: true}
	case "Failed":
		return failed(ReasonPodFailed, "has failed"+because(f.text("status", "reason"), f.text("status", "message")))
	case "":
		return progress(ReasonNotObserved, "no node has seen it yet")
	}
	if c, found := f.condition("Ready"); found && c.status == "True" && phase == "Running" {
		return Verdict{Met: true}
	}
	if c, found := f.condition("PodScheduled"); found && c.status == "False" && c.reason == ReasonUnschedulable {
		since := c.since
		if since.IsZero() {
			since = f.time("metadata", "creationTimestamp")
		}
		return lasting(progress(ReasonUnschedulable, "no node takes it"+because("", c.message)), since, patience, now)
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, item := range f.list("status", list) {
			if m, ok := item.(map[string]any); ok {
				if v, decided := f.container(fields(m), now); decided {
					return v
				}
			}
		}
	}
	if c, found := f.condition("Ready"); found {
		return progress(c.reasonOr(ReasonInProgress), c.sentence())
	}
	return progress(ReasonInProgress, "its phase is "+phase)
}

// container judges a container that waits for what may never come.
func (f fields) container(c fields, now time.Time) (Verdict, bool) {
	reason := c.text("state", "waiting", "reason")
	v := progress(reason, fmt.Sprintf("container %s: %s%s", c.text("name"), reason, because("", c.text("state", "waiting", "message"))))
	switch reason {
	case "InvalidImageName", "ErrImageNeverPull":
		v.Failed = true
		return v, true
	case ReasonCrashLoop:
		return lasting(v, c.time("lastState", "terminated", "finishedAt"), crashPatience, now), true
	case "ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		// When it began nobody writes down; it can not have before there was a node.
		since := f.time("metadata", "creationTimestamp")
		if scheduled, found := f.condition("PodScheduled"); found && scheduled.status == "True" {
			since = scheduled.since
		}
		return lasting(v, since, patience, now), true
	default:
		return Verdict{}, false
	}
}

// lasting turns what goes on since then into a failure once that is too long. A
// beginning that is not known has been long ago; of a time that is not known
// nothing follows.
func lasting(v Verdict, since time.Time, limit time.Duration, now time.Time) Verdict {
	if now.IsZero() {
		return v
	}
	if left := limit - now.Sub(since); left > 0 {
		v.Recheck = left
		return v
	}
	v.Failed = true
	return v
}

// because appends what the cluster gives as reason.
func because(reason, message string) string {
	switch {
	case reason != "" && message != "":
		return ": " + reason + ": " + message
	case reason != "" || message != "":
		return ": " + reason + message
	default:
		return ""
	}
}
