package progress

import (
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// goingEvery is the shortest pause between two plain lines about the deletion of an
// object.
const goingEvery = 3 * time.Second

// going reports a milestone: always on the status line, and now and then as a plain line.
func (c *Reporter) going(e event.Going) {
	if c.activity.taskOf(e.Ref) < 0 { // An object in progress reports its own news.
		c.blocked = &pending{what: format.Name(e.Ref), lacks: going(e)}
	}
	key := e.Ref.Key()
	if e.Text != "" && !c.verbose {
		if c.said[e.Text] {
			return // Objects that come to the same are one line.
		}
		c.said[e.Text] = true
	}
	if c.statusLine == nil && c.now().Sub(c.milestones[key]) >= goingEvery {
		c.milestones[key] = c.now()
		c.say(format.Name(e.Ref) + ": " + going(e))
	}
}

// columns measures stderr, if it is a terminal.
func (c *Reporter) columns() func() int {
	if c.statusLine == nil {
		return nil
	}
	return c.statusLine.columns
}

// Reported reports whether the reason why an object does not go away was already printed.
func (c *Reporter) Reported(d event.Deleted) bool {
	return slices.ContainsFunc(c.told, func(e event.Stuck) bool {
		return e.Ref.Key() == d.Ref.Key() && format.SameCause(e.Causes, d.Causes)
	})
}

// stuck says why an object does not go away. If many objects wait for the same thing,
// only the first are reported: the results have all of them.
func (c *Reporter) stuck(e event.Stuck) {
	c.hangs("still there: "+format.Name(e.Ref)+format.TerminatingFor(e.Since, c.now()), "more objects are still there for the same reason\n", e)
}

// stalled is stuck for an object that is waited for.
func (c *Reporter) stalled(e event.Stalled) {
	c.hangs("no progress: "+format.Name(e.Ref)+format.TerminatingFor(e.Since, c.now()), "more objects make no progress for the same reason\n",
		event.Stuck{Ref: e.Ref, Since: e.Since, Causes: e.Causes})
}

func (c *Reporter) hangs(head, more string, e event.Stuck) {
	const many = 3
	same := 0
	for _, before := range c.told {
		if before.Ref.Key() == e.Ref.Key() && format.SameTexts(before.Causes, e.Causes) {
			return
		}
		if before.Ref.Key() != e.Ref.Key() && format.SameCause(before.Causes, e.Causes) {
			same++
		}
	}
	c.told = append(c.told, e)
	switch {
	case same == 0:
		var b strings.Builder
		b.WriteString(head + "\n")
		if e.Causes = c.doubts.Once(e.Causes); !c.verbose {
			e.Causes = format.Brief(e.Causes)
		}
		format.Below(&b, format.Stuck(e, format.Columns(c.columns())), "    ", c.columns())
		c.note(b.String())
	case same < many:
		c.note(head + ", for the same reason\n")
	case same == many:
		c.note(more)
	}
}
