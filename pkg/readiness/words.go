package readiness

import (
	"slices"
	"strings"
	"unicode"
)

type class int

const (
	none class = iota
	// A good word says that something is as it should be: Ready, Healthy, Bound.
	good
	// A mild word is good if its value is true, but the value is often false in normal operation:
	// Active is false for an object that is scaled to zero.
	mild
	// A word of class runs, such as Running, is good for an object that should keep running, but
	// means that an object that should end has not finished.
	runs
	// A step word says that one step is done: Created, Scheduled.
	step
	// A working word says that something is not done yet: Pending, Updating.
	working
	// A paused word says that the object was stopped.
	paused
	bad
	// A neutral name says nothing about whether the object is ready: LiveMigratable, Warning.
	neutral
)

// classOf returns the class of a word. The words listed here are the entire vocabulary; other rules
// concern the form and position of words.
func classOf(word string) class {
	switch word {
	case "ready", "available", "healthy", "succeeded", "success", "successful", "complete", "completed",
		"established", "programmed", "synced", "synchronized", "reconciled", "bound", "online", "operational",
		"ok", "okay", "green", "deployed", "installed", "valid", "stable", "accomplished", "fulfilled", "up", "serving", "normal", "resolved",
		"structural", "accepted", "compliant", "issued", "finished", "done", "reachable", "optimal", "realized", "satisfied", "succeed", "insync", "uptodate", "clean":
		return good
	case "running", "active":
		return runs
	case "enabled", "connected", "applied", "attached", "listening", "open",
		"provisioned", "configured", "updated", "verified", "passed", "current", "joined", "adopted", "published",
		"imported", "enforced":
		return mild
	case "created", "launched", "scheduled", "initialized", "initialised", "registered", "started", "allocated",
		"requested", "prepared", "pulled", "submitted", "admitted", "reserved", "validated", "found", "loaded",
		"fetched", "assigned", "approved", "placed", "planned", "generated", "acquired", "observed", "discovered":
		return step
	case "pending", "waiting", "wait", "queued", "progressing", "progress", "reconciling", "updating", "upgrading",
		"provisioning", "creating", "deleting", "terminating", "restarting", "rolling", "rollout", "migrating", "restoring",
		"installing", "deploying", "scaling", "issuing", "initializing", "initialising", "recovering", "rebuilding",
		"synchronizing", "syncing", "unknown", "unready", "inprogress", "yellow", "warn", "warning", "unsettled",
		"bootstrapping", "partial", "partially", "remediating", "modifying", "backoff", "retrying", "draining", "detached", "unbound":
		return working
	case "paused", "suspended", "hibernated", "hibernating", "stopped", "halted", "frozen", "maintenance", "shutdown":
		return paused
	case "failed", "failure", "failures", "failing", "fail", "error", "errors", "errored", "err", "degraded", "stalled",
		"unhealthy", "unavailable", "unreachable", "red", "critical", "crashed", "crashing", "broken", "lost", "faulted",
		"faulty", "invalid", "conflict", "conflicted", "conflicts", "denied", "rejected", "refused", "forbidden", "expired",
		"offline", "down", "misconfigured", "blocked", "stuck", "terminal", "unrecoverable", "corrupted", "disconnected",
		"missing", "aborted", "fatal", "dead", "dangling", "evicted", "fallback", "unauthorized", "outofsync",
		"unsupported", "inoperable", "inaccessible", "unschedulable", "incompatible", "oomkilled",
		"crash", "crashloop", "panic", "recoverable", "nonready", "pressure", "violation", "violated", "irreconcilable", "noncompliant":
		return bad
	}
	return none
}

// split returns the words of a name or a phrase in lower case: PodReadyToStart, HEALTH_OK, "Cluster
// in healthy state".
func split(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		startsWord := unicode.IsUpper(r) && i > 0 &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1]))
		if startsWord {
			end()
		}
		word = append(word, r)
	}
	end()
	return joined(words)
}

// joined makes one word of each phrase, such as "up to date", whose meaning does not follow from
// its words.
func joined(words []string) []string {
	text := " " + strings.Join(words, " ") + " "
	for _, phrase := range []string{"in progress", "out of sync", "in sync", "up to date", "crash loop", "not found", "timed out", "back off", "oom killed", "non compliant"} {
		text = strings.ReplaceAll(text, " "+phrase+" ", " "+strings.ReplaceAll(phrase, " ", "")+" ")
	}
	return strings.Fields(text)
}

func isNegation(word string) bool {
	return word == "not" || word == "no" || word == "non" || word == "never" || word == "isnt"
}

// reachOf returns how many words without a class may come between a negation and the word that it
// negates: "not correctly applied", NotAllReplicasReady, NoNodesReady.
func reachOf(negation string) int {
	switch negation {
	case "not", "never":
		return 2
	case "no":
		return 1
	}
	return 0
}

func isNegated(words []string, i int) bool {
	for n, word := range slices.Backward(words[:i]) {
		if isNegation(word) {
			return i-n-1 <= reachOf(word)
		}
		if classOf(word) != none {
			return false
		}
	}
	return false
}

// nameClass returns the class of the name of a condition or a boolean. It is the class of the last
// word that has one: Synced in SecretSynced, Ready in ReadyToUse. negated reports whether an
// earlier word negates that word.
func nameClass(words []string) (c class, negated bool) {
	for i, word := range slices.Backward(words) {
		c = classOf(word)
		switch {
		case c == none && (strings.HasSuffix(word, "able") || strings.HasSuffix(word, "ible")), word == "warning", word == "warnings":
			// The name refers to a possibility, such as LiveMigratable, or is only a remark.
			return neutral, false
		case c == none && strings.HasSuffix(word, "ing") && len(words) == 1:
			c = working
		case c == none && len(words) == 1 && slices.Contains([]string{"health", "readiness", "availability"}, word):
			c = good
		case c == none:
			continue
		case (word == "up" || word == "down") && i > 0:
			continue // ScalingUp
		case c == good && i > 0 && (words[i-1] == "partially" || words[i-1] == "partial"):
			return neutral, false // PartiallyReady: the whole is not ready.
		case (word == "available" || word == "ready") && i > 0 && slices.Contains([]string{"update", "updates", "upgrade", "upgrades"}, words[i-1]):
			return neutral, false // UpgradeAvailable is not a state of the object.
		}
		return c, isNegated(words, i)
	}
	return none, false
}

func endsWell(words []string) bool {
	last := len(words) - 1
	return last >= 0 && slices.Contains([]string{"completed", "complete", "done", "finished", "succeeded"}, words[last]) && !isNegated(words, last)
}

// phraseClass returns the class of a phase, a state or a health status, which may be a word or a
// phrase. The class of a phrase is the worst class among its words.
func phraseClass(text string) class {
	worst, weight := none, 0
	words := split(text)
	for i, word := range words {
		c := classOf(word)
		switch {
		case c == none && strings.HasSuffix(word, "ing"):
			c = working
		case word == "down" && i > 0:
			c = working // ScalingDown
		}
		if c == working && strings.HasSuffix(word, "ing") && endsWell(words[i+1:]) {
			continue // FencingCompleted
		}
		if isNegated(words, i) {
			switch c {
			case good, mild, runs, step:
				c = working
			case bad, working, paused:
				c = good
			default:
			}
		}
		w := map[class]int{step: 1, mild: 2, runs: 2, good: 3, working: 4, paused: 5, bad: 6}[c]
		if w > weight {
			worst, weight = c, w
		}
	}
	return worst
}

// isErrorReason reports whether the reason of a condition is an error. Such a reason ends with a
// word for an error, like ReconcileFailed, or begins with one, like ErrInitIssuer.
func isErrorReason(reason string) bool { return isFinal(reason) || isMissing(reason) }

// isFinal reports whether a reason is an error that does not go away. A missing object does not
// count, because it may be created a moment later.
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

func isMissing(reason string) bool {
	words := split(reason)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains([]string{"notfound", "missing", "timeout", "timedout", "unreachable", "unavailable", "unhealthy", "degraded", "backoff", "unschedulable"}, last) ||
		words[0] == "missing" || words[0] == "unable"
}

// isBenign reports whether the reason says that the state is intended: BackupDisabled, NotRequired.
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

// isDone reports whether the reason of a Progressing condition says that the work is done, as
// NewReplicaSetAvailable does.
func isDone(reason string) bool {
	return phraseClass(reason) == good || isBenign(reason)
}
