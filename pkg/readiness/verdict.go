package readiness

import "time"

// Verdict is what a rule says about one version of one object.
type Verdict struct {
	Ready bool
	// Failed is terminal: the object is not ready, and will not be until something is
	// changed.
	Failed bool
	// Reason is short and stable: InProgress, StaleStatus, JobFailed, Absent.
	Reason string
	// Message is one sentence for people. It may quote the cluster.
	Message string
	// Values are those on which the verdict rests.
	Values []Value
	// Recheck is the time after which the verdict may differ although the object is the
	// same; zero if only a change of the object can change it.
	Recheck time.Duration
}

// Value is one value that was read of an object.
type Value struct {
	// Expr says where it was read: self.status.readyReplicas.
	Expr string
	// Value has one of JSON's types.
	Value any
	// Absent is set if there is nothing at that place.
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
