package condition

import "time"

// Verdict is what a condition says of one version of one object.
type Verdict struct {
	Met bool
	// Failed is terminal: not met, and not going to be unless somebody changes
	// something.
	Failed bool
	// Reason is short and stable: InProgress, StaleStatus, JobFailed, Absent.
	Reason string
	// Message is one sentence for people. It may quote the cluster.
	Message string
	// Values are what the condition read, in order of appearance.
	Values []Value
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
	// Absent tells that there is nothing at this path.
	Absent bool
}
