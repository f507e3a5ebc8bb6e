package printer

import (
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// pending is what a run waits for or works on: the one that has lasted longest. A terminal and a log say it in the
// same words.
type pending struct {
	what string
	// since is when it began, zero where that is not known; limit is how long it may
	// take, 0 for as long as it needs.
	since time.Time
	limit time.Duration
	// lacks is what is still missing, or the reason; it may be empty.
	lacks string
	// others is what else there is, which is the first to be cut.
	others string
}

// worthTelling is how long something without a limit lasts before that is told.
const worthTelling = 3 * time.Second

// line says what is waited for, how long of how long, and what it lacks. The time
// comes before what may be long.
func (p pending) line(now time.Time) string {
	text := p.what
	switch elapsed := now.Sub(p.since); {
	case p.since.IsZero():
	case p.limit > 0 && elapsed < time.Second:
		text += " (up to " + lasting(p.limit) + ")"
	case p.limit > 0:
		text += " (" + lasting(elapsed) + " of " + lasting(p.limit) + ")"
	case elapsed >= worthTelling:
		text += " (" + lasting(elapsed) + ")"
	}
	if p.lacks != "" {
		text += ": " + p.lacks
	}
	return text + p.others
}

// over reports whether the time is up, so that it is not this any more.
func (p pending) over(now time.Time) bool {
	return p.limit > 0 && now.Sub(p.since) > p.limit
}

// lasting is a duration as one says it: 45s, 5m, 1m30s.
func lasting(d time.Duration) string {
	text := max(0, d).Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// task is an object that is worked on.
type task struct {
	ref    object.Ref
	since  time.Time
	within time.Duration
	// news is what was heard of it last.
	news string
}

// pending is what the run is about at this moment; ok is false where the events so
// far do not say.
func (c *progress) pending() (p pending, ok bool) {
	switch {
	case len(c.underway) > 0:
		first := c.underway[0]
		return pending{
			what: label(first.ref), since: first.since, limit: first.within, lacks: first.news, others: others(c.underway[1:]),
		}, true
	case len(c.lacking) > 0:
		j, _ := c.latest()
		p := c.waiting
		p.what, p.lacks = label(j.Ref), shortly(j)
		if more := len(c.lacking) - 1; more > 0 {
			p.others = fmt.Sprintf(", +%d", more)
		}
		if !c.waits {
			p.what = "waiting for " + p.what
		}
		return p, true
	case c.waits && c.begun && (c.done < c.total || c.total == 0):
		p := c.waiting
		p.what = "nothing is heard of " + c.unheard() + " yet"
		return p, true
	case !c.begun && c.step != "":
		return pending{what: c.step, since: c.stepped}, true
	default:
		return pending{}, false
	}
}

// others names one more object that is worked on, and counts the rest.
func others(tasks []task) string {
	if len(tasks) == 0 {
		return ""
	}
	text := ", " + label(tasks[0].ref)
	if more := len(tasks) - 1; more > 0 {
		text += fmt.Sprintf(", +%d", more)
	}
	return text
}

// unheard is what nobody has said anything about.
func (c *progress) unheard() string {
	if left := c.total - c.done; left > 1 {
		return fmt.Sprintf("%d objects", left)
	}
	for _, phase := range c.phases {
		if len(phase.Refs) == 1 {
			return label(phase.Refs[0])
		}
	}
	return "what is waited for"
}

// word is what the good ones among the results are called.
type word struct {
	text string
	good []event.Action
	// awaited: only the good ones are an end, what else there is came too late.
	awaited bool
}

// progress is how many objects came to a good end, and how many to a bad one:
// "3 of 4 applied, 1 failed". What is still waited for is none of them.
func (c *progress) progress() string {
	if c.total <= 0 || c.word.text == "" {
		return ""
	}
	return fmt.Sprintf("%d of %d %s%s", c.good(), c.total, c.word.text, troubles(c))
}

// good counts the results that are what was wanted.
func (c *progress) good() int {
	n := 0
	for _, action := range c.word.good {
		n += c.tally[action]
	}
	return n
}

// ended counts the results that are an end.
func (c *progress) ended() int {
	if c.word.awaited {
		return c.good()
	}
	return c.done
}

// wentWrong reports whether there is a result that somebody has to look into.
func (c *progress) wentWrong() bool {
	if c.word.text == "" {
		return false
	}
	bad := c.good() < c.done || c.done < c.total
	for action, n := range c.waited {
		bad = bad || action != event.Met && n > 0
	}
	return bad
}
