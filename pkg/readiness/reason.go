package readiness

import "slices"

// IsError reports whether a condition's reason is that of an error: it ends in one, as
// ReconcileFailed, or begins with one, as ErrInitIssuer.
func IsError(reason string) bool { return isFinal(reason) || isWanting(reason) }

// isFinal is IsError without what may be there a moment later.
func isFinal(reason string) bool {
	words := split(reason)
	if len(words) == 0 {
		return false
	}
	last := len(words) - 1
	if last > 0 && isNegation(words[last-1]) {
		return slices.Contains([]string{"allowed", "permitted", "supported", "accepted"}, words[last])
	}
	switch words[last] {
	case "failed", "failure", "failures", "error", "errors", "errored", "invalid", "denied", "forbidden", "rejected",
		"unauthorized", "exceeded", "crashed", "conflict", "unsupported", "misconfigured", "broken", "refused", "expired",
		"aborted", "fatal", "panic", "failing", "crashloopbackoff", "violation", "violations", "violated", "disallowed":
		return true
	}
	switch words[0] {
	case "err", "error", "failed", "failure", "failing", "invalid", "cannot", "unsupported", "denied", "forbidden",
		"misconfigured", "crashloop", "crashloopbackoff", "crashing":
		return true
	}
	return false
}

// isWanting reports whether the reason is that something else is not there (yet).
func isWanting(reason string) bool {
	words := split(reason)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains([]string{"notfound", "missing", "timeout", "timedout", "unreachable", "unavailable", "unhealthy", "degraded", "backoff", "unschedulable"}, last) ||
		words[0] == "missing" || words[0] == "unable"
}

// isBenign reports whether the reason says that this is as intended: BackupDisabled,
// NotRequired.
func isBenign(reason string) bool {
	words := split(reason)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	if slices.Contains([]string{"disabled", "skipped", "unused", "unneeded", "unmanaged", "optional", "zero", "expected", "removed"}, last) {
		return true
	}
	return isNegation(words[0]) && slices.Contains([]string{
		"required", "needed", "configured", "requested", "applicable", "enabled", "specified", "set", "defined",
		"provided", "used", "necessary", "wanted", "paused", "reported",
	}, last)
}

// isDone reports whether the reason of what is called progress says that it is over:
// NewReplicaSetAvailable.
func isDone(reason string) bool {
	return phraseClass(reason) == good || isBenign(reason)
}
