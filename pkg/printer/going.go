package printer

import (
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// goingEvery is the least pause between two plain lines that tell how far the
// deletion of an object is.
const goingEvery = 3 * time.Second

// going tells of a milestone: always on the live line, as a plain line now and then.
func (c *console) going(e event.Going) {
	text := label(e.Ref) + ": " + clean(e.Text)
	if e.Text == "" {
		text = fmt.Sprintf("%s: %d of %d objects in it are gone", label(e.Ref), e.Done, e.Total)
	}
	c.hold = &hold{text: text}
	key := e.Ref.Key()
	if c.live == nil && c.now().Sub(c.milestones[key]) >= goingEvery {
		c.milestones[key] = c.now()
		c.say(text)
	}
}

// columns measures stderr, if it is a terminal.
func (c *console) columns() func() int {
	if c.live == nil {
		return nil
	}
	return c.live.columns
}

// stuck tells why an object does not go. Of objects that wait for the same, only the
// first are told: the results have all of them.
func (c *console) stuck(e event.Stuck) {
	const many = 3
	same := 0
	for _, before := range c.told {
		if before.Ref.Key() != e.Ref.Key() && sameCause(before.Causes, e.Causes) {
			same++
		}
	}
	c.told = append(c.told, e)
	head := "still there: " + label(e.Ref) + terminatingFor(e.Since, c.now())
	switch {
	case same == 0:
		var b strings.Builder
		b.WriteString(head + "\n")
		below(&b, stuckLines(e), "    ", c.columns())
		c.screen.note(b.String())
	case same < many:
		c.screen.note(head + ", for the same reason\n")
	case same == many:
		c.screen.note("more objects are still there for the same reason\n")
	}
}
