package condition

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Reasons of readiness, besides those that a condition of the object states.
const (
	ReasonInProgress       = "InProgress"
	ReasonStalled          = "Stalled"
	ReasonNotObserved      = "NotObserved"
	ReasonNoStatus         = "NoStatus"
	ReasonNothingSaysReady = "NothingSaysReady"
	ReasonPaused           = "Paused"
	ReasonSuspended        = "Suspended"
	ReasonJobFailed        = "JobFailed"
	ReasonJobNotStarted    = "JobNotStarted"
	ReasonProgressDeadline = "ProgressDeadlineExceeded"
	ReasonPodFailed        = "PodFailed"
	ReasonUnschedulable    = "Unschedulable"
	ReasonCrashLoop        = "CrashLoopBackOff"
	ReasonClaimLost        = "ClaimLost"
	ReasonNoAddress        = "NoAddress"
	ReasonFailed           = "Failed"
)

// readiness is the verdict on an object as a whole. docs/readiness.md is its
// specification.
type readiness struct {
	// rule is of the kind; nil for kinds that are judged by convention alone.
	rule func(f fields, now time.Time) Verdict
	// custom tells that nobody but a convention can say what ready is.
	custom bool
	// hasStatus tells whether objects of the kind may have a status at all.
	hasStatus bool
}

func newReadiness(kind schema.GroupVersionKind, s *spec.Schema) readiness {
	return readiness{
		rule:      ruleOf(kind.GroupKind()),
		custom:    !builtIn(kind.Group),
		hasStatus: mayHaveStatus(s),
	}
}

// mayHaveStatus tells whether the schema has a status; one that is not known, or
// leaves open what there is, may.
func mayHaveStatus(s *spec.Schema) bool {
	if s == nil || len(s.Properties) == 0 || shapeOf(s, tree{}).dynamic {
		return true
	}
	_, found := s.Properties["status"]
	return found
}

// readTree: of spec, what the rules read; of status, everything.
func (readiness) readTree() tree {
	return tree{
		"status": nil,
		"spec": tree{
			"replicas": nil, "paused": nil, "progressDeadlineSeconds": nil, "minReadySeconds": nil,
			"updateStrategy": nil, "completions": nil, "parallelism": nil, "suspend": nil,
			"type": nil, "clusterIP": nil,
		},
		"metadata": tree{"generation": nil, "creationTimestamp": nil, "deletionTimestamp": nil},
	}
}

func (r readiness) judge(_ context.Context, obj map[string]any, now time.Time) Verdict {
	if obj == nil {
		return notFound()
	}
	f := fields(obj)
	if f.text("metadata", "deletionTimestamp") != "" {
		return Verdict{Reason: ReasonTerminating, Message: "is being deleted"}
	}
	if f.staleStatus() {
		return Verdict{Reason: ReasonStaleStatus, Message: "its status speaks of an earlier generation"}
	}
	if v, decided := f.abnormal(); decided {
		return v
	}
	if r.rule != nil {
		return r.rule(f, now)
	}
	if v, decided := f.byConvention(); decided {
		return v
	}
	switch {
	case !r.custom || !r.hasStatus:
		return Verdict{Met: true}
	case !f.has("status"):
		return progress(ReasonNoStatus, "has no status yet")
	default:
		return progress(ReasonNothingSaysReady, "nothing in its status says whether it is ready; wait for an expression instead")
	}
}

// abnormal reads the conditions by which a controller says of any object that it
// is at work on it, or has given up.
func (f fields) abnormal() (Verdict, bool) {
	if c, found := f.condition("Reconciling"); found && c.status == "True" && !c.stale {
		return progress(c.reasonOr(ReasonInProgress), c.sentence()), true
	}
	if c, found := f.condition("Stalled"); found && c.status == "True" && !c.stale {
		return failed(ReasonStalled, c.sentence()), true
	}
	return Verdict{}, false
}

// byConvention reads the conditions that say, by convention, whether an object is
// ready; the first that there is decides (edge cases 47, 48).
func (f fields) byConvention() (Verdict, bool) {
	for _, kind := range []string{"Ready", "Available", "Succeeded"} {
		c, found := f.condition(kind)
		switch {
		case !found:
			continue
		case c.stale:
			return progress(ReasonStaleStatus, c.kind+" speaks of an earlier generation"), true
		case c.status == "True":
			return Verdict{Met: true}, true
		case kind == "Succeeded" && c.status == "False":
			// Of what runs once, False is the end: Unknown is "not yet".
			return failed(c.reasonOr(ReasonFailed), c.sentence()), true
		default:
			return progress(c.reasonOr(ReasonInProgress), c.sentence()), true
		}
	}
	return Verdict{}, false
}

// reasonOr returns the reason that the condition states.
func (s says) reasonOr(otherwise string) string {
	if s.reason == "" || strings.ContainsAny(s.reason, " \t\n") {
		return otherwise
	}
	return s.reason
}

func progress(reason, message string) Verdict {
	return Verdict{Reason: reason, Message: oneLine(message)}
}

func failed(reason, message string) Verdict {
	return Verdict{Failed: true, Reason: reason, Message: oneLine(message)}
}
