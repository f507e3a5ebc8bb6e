package history

import (
	"slices"
	"time"
)

// Plan is a reviewed plan that a run has confirmed.
type Plan struct {
	Digest string `json:"digest"`
	// Run, Number and Started are those of the last run that confirmed the plan.
	Run     string    `json:"run"`
	Number  int64     `json:"number"`
	Started time.Time `json:"started"`
	// Applied means that the run has applied the whole plan.
	Applied bool `json:"applied,omitempty"`
}

// MostPlans limits the plans that a set remembers. They are in an annotation of its Lease.
const MostPlans = 20

// Plan returns the plan with the digest.
func (p Place) Plan(digest string) (Plan, bool) {
	i := slices.IndexFunc(p.Plans, func(plan Plan) bool { return plan.Digest == digest })
	if i < 0 {
		return Plan{}, false
	}
	return p.Plans[i], true
}

// With returns the place with the plan as its last one.
func (p Place) With(plan Plan) Place {
	others := slices.DeleteFunc(slices.Clone(p.Plans), func(other Plan) bool { return other.Digest == plan.Digest })
	p.Plans = append(others[max(0, len(others)-MostPlans+1):], plan)
	return p
}

// IsUsed reports whether a run with the plan would repeat it: it was applied, or another run has
// followed the run that did not finish it. newest is the newest run of the set.
func (plan Plan) IsUsed(newest Run) bool { return plan.Applied || plan.Number != newest.Place.Number }
