package condition

import "time"

// Verdict is what a condition says of one version of one object.
type Verdict struct {
	Met bool
	// Failed is terminal: not met, and not going to be unless somebody changes
	// something.
	Failed bool
	// Reason is short and stable, one of those below; empty where Met or Err says
	// it all. docs/readiness.md lists the reasons.
	Reason string
	// Message is one sentence for people. It may quote the cluster.
	Message string
	// Values are what the condition read, in order of appearance.
	Values []Value
	// Unmet are the parts of a CEL expression, joined by &&, that are not true.
	// What comes after them may not have been looked at.
	Unmet []string
	// Err says why it could not be judged: neither met nor not.
	Err error
	// Recheck is the time after which the verdict may be another although the
	// object is the same; zero where only a change of the object can change it.
	Recheck time.Duration
}

// Value is one thing that a condition read.
type Value struct {
	// Expr is the part of the condition: self.status.readyReplicas.
	Expr string
	// Value is of JSON's types; values of Secrets are masked.
	Value any
	// Absent tells that there is nothing at this path, or null.
	Absent bool
}

// Reasons of all conditions.
const (
	// ReasonNotFound: the object does not exist.
	ReasonNotFound = "NotFound"
	// ReasonExists: the object does exist, and is to be gone.
	ReasonExists = "Exists"
	// ReasonTerminating: the object is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonFalse: the expression is false, or the value another.
	ReasonFalse = "False"
	// ReasonAbsent: what the condition reads is not there.
	ReasonAbsent = "Absent"
	// ReasonStaleStatus: the status speaks of an earlier generation.
	ReasonStaleStatus = "StaleStatus"
)

func notFound() Verdict {
	return Verdict{Reason: ReasonNotFound, Message: "does not exist"}
}
