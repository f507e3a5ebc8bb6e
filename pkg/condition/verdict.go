package condition

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Verdict is what a condition says of one version of one object.
type Verdict struct {
	Met bool
	// Failed is terminal: not met, and will not be until something is changed.
	Failed bool
	// Reason is short and stable: InProgress, StaleStatus, JobFailed, Absent.
	Reason string
	// Message is one sentence for people. It may quote the cluster.
	Message string
	// Values are what the condition read, in order of appearance. Those of Secrets are
	// masked.
	Values []readiness.Value
	// Err says why it could not be evaluated: neither met nor not.
	Err error
	// Recheck is the time after which the verdict may be another although the
	// object is the same; zero where only a change of the object can change it.
	Recheck time.Duration
}

func notEvaluated(err error) Verdict {
	return Verdict{Reason: "NotJudged", Message: text.OneLine(err.Error()), Err: err}
}
