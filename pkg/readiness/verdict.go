package readiness

import "time"

// Verdict is what a rule says of one version of one object.
type Verdict struct {
	Ready bool
	// Failed is terminal: not ready, and it will not be until something is changed.
	Failed bool
	// Reason is short and stable: InProgress, StaleStatus, JobFailed, Absent.
	Reason string
	// Message is one sentence for people. It may quote the cluster.
	Message string
	// Values are what the verdict rests on.
	Values []Value
	// Recheck is the time after which the verdict may be another although the
	// object is the same; zero where only a change of the object can change it.
	Recheck time.Duration
}

// Value is one thing that was read of an object.
type Value struct {
	// Expr is where it was read: self.status.readyReplicas.
	Expr string
	// Value is of JSON's types.
	Value any
	// Absent reports that there is nothing there.
	Absent bool
}

func met(message string, values ...Value) Verdict {
	return Verdict{Ready: true, Reason: "Ready", Message: message, Values: values}
}

func unmet(reason, message string, values ...Value) Verdict {
	return Verdict{Reason: reason, Message: message, Values: values}
}

func failed(reason, message string, values ...Value) Verdict {
	return Verdict{Failed: true, Reason: reason, Message: message, Values: values}
}
