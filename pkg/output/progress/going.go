package progress

import (
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// goingEvery is the shortest pause between two plain lines about one deletion.
const goingEvery = 3 * time.Second

// going reports progress of a deletion: always on the status line, and occasionally as a plain
// line.
func (c *Reporter) going(e event.Going) {
	if c.activity.taskOf(e.Ref) < 0 { // An object in progress reports its own news.
		c.blocked = &pending{what: format.Name(e.Ref), lacks: going(e)}
	}
	key := e.Ref.Key()
	if e.Text != "" && !c.verbose {
		if c.said[e.Text] {
			return // Objects with the same end are one line.
		}
		c.said[e.Text] = true
	}
	if c.statusLine == nil && c.now().Sub(c.milestones[key]) >= goingEvery {
		c.milestones[key] = c.now()
		c.say(format.Name(e.Ref) + ": " + going(e))
	}
}

func (c *Reporter) columns() func() int {
	if c.statusLine == nil {
		return nil
	}
	return c.statusLine.columns
}

// Reported reports whether the cause of a stuck object was printed.
func (c *Reporter) Reported(d event.Deleted) bool {
	return slices.ContainsFunc(c.told, func(e event.Stuck) bool {
		return e.Ref.Key() == d.Ref.Key() && format.SameCause(e.Causes, d.Causes)
	})
}

// stuck reports why an object is stuck. If many share a cause, it reports only the first; the
// results list all.
func (c *Reporter) stuck(e event.Stuck) {
	c.hangs("still there: "+format.Name(e.Ref)+format.TerminatingFor(e.Since, c.now()), "more objects are still there for the same reason\n", e)
}

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
