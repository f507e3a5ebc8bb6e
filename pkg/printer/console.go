package printer

import (
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// every is the pause between two plain lines that tell how far the run is.
const every = 10 * time.Second

// console is stderr: how far the run is, what it is waiting for, and warnings.
// But for the headings, it is the same for every format.
type console struct {
	course *course
	screen *screen
	now    func() time.Time
	live   *live // nil where plain lines are to tell
	// headings: the name of a phase stands above its results. A machine reads no
	// headings, and finds the phases in its stream.
	headings bool

	warnings planned[string]
	warned   map[warning]bool

	hold      *hold // nil while work goes on
	said      map[string]bool
	last      time.Time // of the last plain line
	start     time.Time // of the run
	unreached bool      // the API server does not answer

	explains   bool // of what is stuck, though the run goes on
	told       []event.Stuck
	milestones map[object.Key]time.Time
}

// warning is a text and whose it is: the same text for two objects is two
// warnings, the same for one object (of a dry run, and then of the write) is one.
type warning struct {
	key  object.Key
	text string
}

func newConsole(o Options, course *course, screen *screen) *console {
	c := &console{
		course: course,
		screen: screen,
		now:    o.Now,
		warned: map[warning]bool{},
		said:   map[string]bool{},

		headings:   o.Format == Table || o.Format == Name,
		milestones: map[object.Key]time.Time{},
	}
	if o.Progress {
		c.live = newLive(o.ErrWidth)
	}
	return c
}

func (c *console) take(e event.Event) {
	if c.start.IsZero() {
		c.start = c.now()
		c.last = c.start
	}
	switch e := e.(type) {
	case event.PhaseStarted:
		clear(c.said)
		c.goOn()
		c.announce()
	case event.Applied, event.Compared, event.Deleted, event.Waited, event.Judged:
		c.goOn()
		c.report()
	case event.Warned:
		c.warn(e)
	case event.LeftOut:
		c.leftOut(e)
	case event.Retrying:
		c.retrying(e)
	case event.Waiting:
		c.waiting(e)
	case event.Going:
		c.going(e)
	case event.Stuck:
		if c.explains {
			c.stuck(e)
		}
	}
}

// warn keeps a warning until its phase is over, so that they come in the order
// of the plan; one of the run as a whole is shown at once.
func (c *console) warn(e event.Warned) {
	w := warning{key: e.Ref.Key(), text: e.Text}
	if c.warned[w] {
		return
	}
	c.warned[w] = true
	if e.Ref == (object.Ref{}) {
		c.screen.note("warning: " + clean(e.Text) + "\n")
		return
	}
	c.warnings.add(c.course.place(e.Ref), clean(e.Ref.String()+": "+e.Text))
}

// leftOut tells at once what of the input nothing is made of.
func (c *console) leftOut(e event.LeftOut) {
	text := explain(e.Err)
	c.screen.note("left out: " + strings.Join(text, "\n  ") + "\n")
}

func (c *console) flush() {
	for _, text := range c.warnings.drain() {
		c.screen.note("warning: " + text + "\n")
	}
}

func (c *console) retrying(e event.Retrying) {
	h := &hold{cause: oneLine(root(e.Err))}
	if e.Left > 0 {
		h.until = c.now().Add(e.Left)
	}
	if e.Ref == (object.Ref{}) {
		c.unreached = true
		h.text = "waiting for the API server"
	} else {
		h.text = "trying " + label(e.Ref) + " again"
	}
	// Many workers meet the same trouble at once: the first of them tells.
	key := reason(e.Err)
	if key == "" {
		key = h.cause
	}
	if c.unreached {
		key = "unreached: " + key
	}
	c.holdOn(h, key, plainRetry(e))
}

func (c *console) waiting(e event.Waiting) {
	text := "waiting for " + clean(e.For)
	if e.Ref != (object.Ref{}) {
		text = label(e.Ref) + ": " + text
	}
	c.holdOn(&hold{text: text}, text, text)
}

// holdOn remembers why nothing goes on. Plain lines tell it once for each key.
func (c *console) holdOn(h *hold, key, plain string) {
	c.hold = h
	if c.live != nil || c.said[key] {
		return
	}
	c.said[key] = true
	c.say(plain)
}

// goOn: work was done, so what held it up is over.
func (c *console) goOn() {
	c.hold = nil
	if !c.unreached {
		return
	}
	c.unreached = false
	clear(c.said)
	if c.live == nil {
		c.say("the API server answers again")
	}
}

// announce tells of the phase that begins, where there are several.
func (c *console) announce() {
	phase, ok := c.course.phase()
	if c.live != nil || !c.headings || !ok || len(c.course.phases) < 2 {
		return
	}
	c.say(fmt.Sprintf("%s: %s", c.course.title(), count(phase.Total, "object")))
}

// report tells now and then how far the run is.
func (c *console) report() {
	elapsed := c.now().Sub(c.start)
	if c.live != nil || c.now().Sub(c.last) < every {
		return
	}
	if j, ok := c.course.latest(); ok {
		c.say(fmt.Sprintf("%s: %d of %d met, %s: %s", c.course.title(), c.course.done, c.course.total, label(j.Ref), shortly(j)))
		return
	}
	if c.course.waits {
		return // What was met goes without saying, and the results tell it.
	}
	rate := float64(c.course.done) / elapsed.Seconds()
	c.say(fmt.Sprintf("%s: %d of %d done, %.0f/s", c.course.title(), c.course.done, c.course.total, rate))
}

func (c *console) say(line string) {
	c.last = c.now()
	c.screen.note(line + "\n")
}

// draw brings the live line up to date.
func (c *console) draw() {
	c.screen.draw(c.live.line(c.course, c.hold, c.now()))
}
