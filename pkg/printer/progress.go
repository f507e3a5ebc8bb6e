package printer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// progress is what the events so far tell of the run: its phases, which of them is
// under way, what is being worked on, and where in the plan an object stands.
type progress struct {
	// begun: there is a plan, or a result.
	begun   bool
	phases  []event.Phase
	current int // index into phases, -1 before the first
	places  map[object.Key]place
	// total is known once the run is planned; inPhase counts the results of the
	// phase under way, done those of the run, tally what they are. What is pruned
	// has left the plan and counts in the tally alone.
	total, inPhase, done int
	tally                map[event.Action]int
	underway             []task // the longest first
	// sharing adds up the fields whose owners change and nothing else, sharers the
	// objects that have some.
	sharing managedfields.Sharing
	sharers int
	// waits: the results are those of a wait.
	waits bool
	// leftOut is what of the input nothing is made of.
	leftOut []error
	// hooks are those of Helm that nothing is made of either.
	hooks []event.Hook
	// waited counts results of waiting for what was applied.
	waited map[event.Action]int
	// lacking is what objects lack that are waited for; news counts what was heard.
	lacking map[object.Key]lack
	news    int
	// waiting is since when and for how long at most the run waits for them.
	waiting pending
	// step is what is done before there is a plan, and since when.
	step    string
	stepped time.Time
	// word is what the results are counted as.
	word word
}

// lack is what an object lacks, and when it was heard.
type lack struct {
	event.Judged
	news int
}

// place is where an object stands in the plan. What the plan does not name comes
// after what it names, by name, in the phase in which it turned up.
type place struct {
	phase, index int
	ref          object.Ref
}

func (p place) compare(other place) int {
	return cmp.Or(
		cmp.Compare(p.phase, other.phase),
		cmp.Compare(p.index, other.index),
		p.ref.Compare(other.ref),
	)
}

func newProgress() *progress {
	return &progress{current: -1, places: map[object.Key]place{}, tally: map[event.Action]int{}, waited: map[event.Action]int{}, lacking: map[object.Key]lack{}}
}

func (c *progress) take(e event.Event, now time.Time) {
	switch e := e.(type) {
	case event.Preparing:
		c.step, c.stepped = text.Printable(e.Text), now
	case event.Planned:
		c.plan(e)
		c.waiting = pending{since: now, limit: e.Within}
	case event.PhaseStarted:
		c.current, c.inPhase = e.Index, 0
	case event.Started:
		c.underway = append(c.underway, task{ref: e.Ref, since: now, within: e.Within})
	case event.Waiting:
		if e.Ref == (object.Ref{}) && e.Since.IsZero() && e.Within > 0 { // for what was applied
			c.waiting = pending{since: now, limit: e.Within}
		}
	case event.Going:
		c.hears(e.Ref, going(e))
	case event.Stuck:
		if len(e.Causes) > 0 {
			c.hears(e.Ref, strings.Join(lines(e.Causes[0].Message), " "))
		}
	case event.Applied:
		c.result(e.Ref, e.Action)
		c.share(e.Sharing)
	case event.Compared:
		c.result(e.Ref, e.Action)
		c.share(e.Sharing)
	case event.Deleted:
		c.result(e.Ref, e.Action)
	case event.Owned:
		c.begun = true
	case event.LeftOut:
		c.leftOut = append(c.leftOut, e.Err)
	case event.HooksLeftOut:
		c.hooks = append(c.hooks, e.Hooks...)
	case event.Awaited:
		c.total++
	case event.Judged:
		c.lacks(e)
	case event.Waited:
		delete(c.lacking, e.Ref.Key())
		if c.waits {
			c.result(e.Ref, e.Action)
		} else {
			c.waited[e.Action]++
		}
	}
}

func (c *progress) plan(e event.Planned) {
	c.begun, c.phases = true, e.Phases
	for i, phase := range e.Phases {
		c.total += phase.Total
		for j, ref := range phase.Refs {
			c.places[ref.Key()] = place{phase: i, index: j, ref: ref}
		}
	}
}

// share adds up fields whose owners change and whose values do not.
func (c *progress) share(s *managedfields.Sharing) {
	if s != nil {
		c.sharing = c.sharing.Plus(*s)
		c.sharers++
	}
}

func (c *progress) result(ref object.Ref, action event.Action) {
	c.begun = true
	c.tally[action]++
	if _, named := c.places[ref.Key()]; named || action != event.Pruned {
		c.done++
		c.inPhase++
	}
	if i := c.taskOf(ref); i >= 0 {
		c.underway = slices.Delete(c.underway, i, i+1)
	}
}

// taskOf returns where an object stands among those that are worked on, -1 if it is
// none of them.
func (c *progress) taskOf(ref object.Ref) int {
	return slices.IndexFunc(c.underway, func(t task) bool { return t.ref.Key() == ref.Key() })
}

// hears keeps the latest news of an object that is worked on.
func (c *progress) hears(ref object.Ref, news string) {
	if i := c.taskOf(ref); i >= 0 {
		c.underway[i].news = news
	}
}

// lacks remembers the latest that is known of an object that is waited for.
func (c *progress) lacks(j event.Judged) {
	c.news++
	c.lacking[j.Ref.Key()] = lack{j, c.news}
}

// latest is the object of which there was news last, of those that lack something.
func (c *progress) latest() (j event.Judged, ok bool) {
	var latest lack
	for _, l := range c.lacking {
		if l.news > latest.news {
			latest = l
		}
	}
	return latest.Judged, latest.news > 0
}

// endsPhase reports whether the results so far can be shown: another phase begins,
// or the run waits for something although the phase has all its results.
func (c *progress) endsPhase(e event.Event) bool {
	switch e.(type) {
	case event.PhaseStarted:
		return true
	case event.Waiting:
		phase, ok := c.phase()
		return ok && c.inPhase >= phase.Total
	default:
		return false
	}
}

// phase returns the phase that is under way, if one is.
func (c *progress) phase() (event.Phase, bool) {
	if c.current < 0 || c.current >= len(c.phases) {
		return event.Phase{}, false
	}
	return c.phases[c.current], true
}

func (c *progress) place(ref object.Ref) place {
	if p, ok := c.places[ref.Key()]; ok {
		return p
	}
	return place{phase: c.current, index: math.MaxInt, ref: ref}
}

// unmade counts, for the last line, what of the input nothing is made of.
func (c *progress) unmade() []string {
	var parts []string
	if n := len(c.leftOut); n > 0 {
		parts = append(parts, fmt.Sprintf("%d left out", n))
	}
	if n := len(c.hooks); n > 0 {
		parts = append(parts, text.Count(n, "Helm hook")+" left out")
	}
	return parts
}

// title names the phase that is under way: "phase 2 of 5, workloads".
func (c *progress) title() string {
	phase, ok := c.phase()
	switch {
	case !ok:
		return ""
	case len(c.phases) == 1:
		return text.Printable(phase.Name)
	default:
		return fmt.Sprintf("phase %d of %d, %s", c.current+1, len(c.phases), text.Printable(phase.Name))
	}
}
