package progress

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// After this time without output (every), a log gets a progress line. As long as that line does not
// change, the interval doubles each time, up to a maximum (seldom).
const (
	every  = 10 * time.Second
	seldom = time.Minute
)

// Reporter reports progress, warnings, and what the run is waiting for, on stderr. Except for
// headings, its output is the same for every format.
type Reporter struct {
	state      *output.State
	activity   *activity
	screen     *output.Screen
	now        func() time.Time
	statusLine *statusLine // nil for plain lines
	// headings means that phases are named above their results.
	headings bool

	warnings  output.PlanOrdered[message]
	rewritten output.PlanOrdered[rewriting] // reported at the end of the run
	rewriters string                        // who may have rewritten them
	warned    map[warning]bool
	leftOuts  []error // not reported yet
	hints     *format.Once

	blocked   *pending // what blocks the run; nil if nothing does
	kinds     []string // kinds to wait for, reported together
	message   map[string]bool
	last      time.Time     // when anything was last printed
	pause     time.Duration // until the next line of progress
	progress  string        // the last such line, without times
	start     time.Time     // of the run
	unreached bool          // the API server does not respond, or only with errors
	sick      bool          // it responds with errors

	// place returns a line that makes a CI system show a message at a place in a file. level is
	// error or warning. place is nil if no such lines are wanted.
	place      func(level string, at object.Source, message string) string
	verbose    bool
	explains   bool // explain stuck objects while the run continues
	reported   []event.Stuck
	doubts     format.Doubts
	milestones map[object.Key]time.Time
}

// New returns the reporter for a run.
func New(b output.Base) *Reporter {
	c := &Reporter{
		state: b.State, activity: &activity{state: b.State, lacking: map[object.Key]lack{}},
		screen: b.Screen, now: b.Now, verbose: b.Verbose, place: b.Annotate, hints: b.Hints,
		warned: map[warning]bool{}, message: map[string]bool{}, milestones: map[object.Key]time.Time{},
		headings: b.Format == output.Table || b.Format == output.Name,
	}
	if b.Progress {
		c.statusLine = &statusLine{width: b.ErrWidth}
	}
	return c
}

// HidePhases turns off the headings of phases, for a run that writes nothing.
func (c *Reporter) HidePhases() { c.headings = false }

// Explain makes the reporter explain stuck objects during the run.
func (c *Reporter) Explain() { c.explains = true }

// Handle reports the parts of an event that matter during the run.
func (c *Reporter) Handle(e event.Event) {
	if c.start.IsZero() {
		c.start = c.now()
		c.last = c.start
	}
	c.activity.handle(e, c.now())
	if left, ok := e.(event.LeftOut); ok {
		c.leftOuts = append(c.leftOuts, left.Err)
		return
	}
	c.leaveOut()
	switch e := e.(type) {
	case event.Preparing, event.Waited, event.Judged:
		c.unblock()
	case event.PhaseStarted:
		clear(c.message)
		c.unblock()
		c.announce()
	case event.Applied:
		c.unblock()
		c.annotateApplied(e)
	case event.Compared:
		c.unblock()
		c.annotateCompared(e)
	case event.Deleted:
		c.unblock()
		c.annotate(e.Source, e.Ref, e.Err)
	case event.Warned:
		c.warn(e, "")
	case event.Remarked:
		c.remark(e)
	case event.Deprecations:
		c.annotateUses(e)
	case event.SetBegun:
		c.print("new set " + text.Printable(e.Parent.Name) + ", stored in " + text.Printable(e.Parent.String()) + "\n")
	case event.HooksLeftOut:
		c.print(hooksText(e, c.verbose))
	case event.Retrying:
		c.retrying(e)
	case event.Reachable:
		c.reachable()
	case event.RollingBack:
		c.print("rolling back: " + text.Count(e.Objects, "object") + ", within " + lasting(e.Within) + "\n")
	case event.Waiting:
		c.waiting(e)
	case event.Terminating:
		c.going(e)
	case event.Stuck:
		if c.explains {
			c.stuck(e)
		}
	case event.Stalled:
		c.stalled(e)
	}
}

func (c *Reporter) retrying(e event.Retrying) {
	h := &pending{lacks: oneLine(root(e.Err))}
	if e.Ref == (object.Ref{}) {
		c.unreached, c.sick = true, answered(e.Err) != 0
		h.what = "waiting for the API server"
	} else {
		h.what = "trying " + format.Name(e.Ref) + " again"
	}
	// Time is counted from the start of the problem, not from the report.
	switch {
	case e.Of > 0:
		h.since, h.limit = c.now().Add(e.Left-e.Of), e.Of
	case c.blocked != nil && c.blocked.what == h.what:
		h.since = c.blocked.since
	default:
		h.since = c.now()
	}
	if h.limit == 0 && e.Left > 0 {
		h.limit = c.now().Add(e.Left).Sub(h.since)
	}
	// If many workers run into the same problem at once, only the first one reports it. A server
	// that does not answer makes requests fail in many ways, but is reported once.
	key := cmp.Or(format.Reason(e.Err), h.lacks)
	switch {
	case e.Ref == (object.Ref{}) && answered(e.Err) == 0 && !isStarting(e.Err):
		key = "unreached"
	case c.unreached:
		key = "unreached: " + key
	}
	if answered(e.Err) != 0 && !c.redraws() {
		h.lacks = "" // The error may be long, and the first line in the log contains it.
	}
	c.holdOn(h, key, plainRetry(e))
}

func (c *Reporter) waiting(e event.Waiting) {
	h := &pending{what: "waiting for " + text.Printable(e.For), since: e.Since, limit: e.Within}
	if h.since.IsZero() {
		h.since = c.now()
	}
	if e.Ref != (object.Ref{}) {
		h.what, h.lacks = format.Name(e.Ref), h.what
	}
	if e.Kind != "" {
		c.awaitKind(e.Kind, h)
		return
	}
	plain := *h
	if e.Since.IsZero() && e.Within == 0 { // The wait has just begun.
		plain.since = time.Time{}
	}
	if e.Ref == (object.Ref{}) && e.Since.IsZero() && e.Within > 0 {
		c.blocked = h // Applied objects are usually ready immediately.
		return
	}
	// Objects that wait for the same thing share a line.
	c.holdOn(h, e.For, plain.line(c.now()))
}

// holdOn records what the run is waiting for. A log reports each key once.
func (c *Reporter) holdOn(h *pending, key, plain string) {
	c.blocked = h
	if c.redraws() || c.message[key] {
		return
	}
	c.message[key] = true
	c.printLine(plain)
}

// redraws reports whether a status line shows the progress. Before there is a plan, a program may
// prompt for a password on the same terminal, and the line must not overwrite what the user types.
func (c *Reporter) redraws() bool {
	return c.statusLine != nil && (c.state.Begun || c.unreached || c.activity.step.limit > 0)
}

// unblock clears what blocked the run, unless the API server does not respond or responds only with
// errors.
func (c *Reporter) unblock() {
	if !c.unreached {
		c.blocked, c.kinds = nil, nil
	}
}

func (c *Reporter) reachable() {
	c.unreached = false
	c.unblock()
	clear(c.message)
	switch {
	case c.statusLine != nil:
	case c.sick:
		c.printLine("the API server has recovered")
	default:
		c.printLine("the API server is answering again")
	}
}

func (c *Reporter) announce() {
	phase, ok := c.state.Phase()
	if c.statusLine != nil || !c.headings || !ok || len(c.state.Phases) < 2 {
		return
	}
	c.screen.Heading(fmt.Sprintf("%s: %s\n", title(c.state), text.Count(phase.Total, "object")))
}

// Refer replaces causes that were already reported during the wait with references to them.
func (c *Reporter) Refer(w event.Waited) event.Waited {
	reported := false
	for _, e := range c.reported {
		if e.Ref.Key() == w.Ref.Key() {
			reported = format.SameTexts(e.Causes, w.Causes) // The last report wins.
		}
	}
	if !reported || len(w.Causes) == 0 {
		return w
	}
	causes := w.Causes
	w.Causes = nil
	for _, cause := range causes {
		w.Causes = append(w.Causes, event.Cause{Code: cause.Code, Message: "see above", Next: cause.Next})
	}
	return w
}

// Tick updates the status line. In a log, it reports progress if nothing has been printed for a
// while.
func (c *Reporter) Tick() {
	now := c.now()
	if c.blocked != nil && c.blocked.over(now) {
		c.blocked = nil // The time limit has passed without another report.
	}
	c.reportKinds(now)
	if c.redraws() {
		line, above := c.statusLine.lines(c.activity, c.blocked, now)
		c.screen.Draw(line, above...)
		return
	}
	if now.Sub(c.last) < every {
		return
	}
	line, same := c.status(now)
	if same != c.progress {
		c.progress, c.pause = same, every
	}
	if line == "" || now.Sub(c.last) < c.pause {
		return
	}
	c.printLine(line)
	c.pause = min(2*c.pause, seldom)
}

// pending returns what is blocking the run or, if nothing is, what the run is doing. It returns nil
// if that is unknown.
func (c *Reporter) pending() *pending {
	if c.blocked != nil {
		return c.blocked
	}
	if p, ok := c.activity.pending(); ok {
		return &p
	}
	return nil
}

// status returns one line that says how far the run has got, what it is waiting for, and for how
// long. It also returns the same line without times and rates.
func (c *Reporter) status(now time.Time) (line, same string) {
	var parts []string
	p := c.pending()
	if progress := soFar(c.state); progress != "" && (p == nil || c.state.Good() < c.state.Total) {
		same = progress
		if title := title(c.state); title != "" {
			progress = title + ": " + progress
			c.screen.Heading("") // This line replaces the heading.
		}
		// A rate is meaningful only while work is proceeding.
		rate := float64(c.state.Done) / now.Sub(c.start).Seconds()
		if c.blocked == nil && len(c.activity.lacking) == 0 && rate >= 1 {
			progress += fmt.Sprintf(", %.0f/s", rate)
		}
		parts = append(parts, progress)
	}
	if p == nil && len(parts) == 0 {
		p = &pending{what: "preparing", since: c.start}
	}
	if p != nil {
		parts = append(parts, p.line(now))
		same += p.what + p.lacks + p.others
	}
	return strings.Join(parts, "; "), same
}

func (c *Reporter) printLine(line string) { c.print(line + "\n") }

func (c *Reporter) print(text string) {
	c.last = c.now()
	c.screen.Note(text)
}
