package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// activity describes what the run is currently doing: the objects in progress or awaited, with the
// latest news about them.
type activity struct {
	state     *output.State
	underway  []task // the longest first
	lacking   map[object.Key]lack
	news      int
	explained []explanation
	// waiting contains the start and the time limit of the wait for the awaited objects.
	waiting pending
	step    pending
	found   []string
}

type task struct {
	ref    object.Ref
	since  time.Time
	within time.Duration
	news   string
}

type explanation struct {
	key   object.Key
	codes string
}

type lack struct {
	event.Judged
	news, first int
}

func (a *activity) handle(e event.Event, now time.Time) {
	switch e := e.(type) {
	case event.Preparing:
		a.step = pending{what: text.Printable(e.Text), since: now, limit: e.Within}
		a.found = e.Found
		if !e.Since.IsZero() {
			a.step.since = e.Since
		}
	case event.Planned:
		a.waiting = pending{since: now, limit: e.Within}
	case event.Started:
		a.underway = append(a.underway, task{ref: e.Ref, since: now, within: e.Within})
	case event.Waiting:
		if e.Ref == (object.Ref{}) && e.Since.IsZero() && e.Within > 0 { // for applied objects
			a.waiting = pending{since: now, limit: e.Within}
		}
	case event.Terminating:
		a.hears(e.Ref, going(e))
	case event.Stuck:
		if len(e.Causes) > 0 {
			a.hears(e.Ref, strings.Join(format.Lines(e.Causes[0].Message), " "))
		}
	case event.Applied:
		a.ends(e.Ref)
	case event.Compared:
		a.ends(e.Ref)
	case event.Deleted:
		a.ends(e.Ref)
	case event.Judged:
		a.news++
		first := a.news
		if before, known := a.lacking[e.Ref.Key()]; known {
			first = before.first
		}
		a.lacking[e.Ref.Key()] = lack{e, a.news, first}
	case event.Stalled:
		a.explains(e)
	case event.Waited:
		delete(a.lacking, e.Ref.Key())
		if a.state.Waits {
			a.ends(e.Ref)
		}
	}
}

func (a *activity) ends(ref object.Ref) {
	if i := a.taskOf(ref); i >= 0 {
		a.underway = slices.Delete(a.underway, i, i+1)
	}
}

func (a *activity) hears(ref object.Ref, news string) {
	if i := a.taskOf(ref); i >= 0 {
		a.underway[i].news = news
	}
}

func (a *activity) taskOf(ref object.Ref) int {
	return slices.IndexFunc(a.underway, func(t task) bool { return t.ref.Key() == ref.Key() })
}

// pending returns the thing to name in the waiting line: a request in progress, else the object that lacked
// something last, else the run's present step.
func (a *activity) pending() (p pending, ok bool) {
	s := a.state
	switch {
	case len(a.underway) > 0:
		first := a.underway[0]
		return pending{
			what: format.Name(first.ref), since: first.since, limit: first.within, lacks: first.news, others: others(a.underway[1:]),
		}, true
	case len(a.lacking) > 0:
		j, why := a.latest()
		p := a.waiting
		p.what, p.lacks = format.Name(j.Ref), why
		if more := len(a.lacking) - 1; more > 0 {
			p.others = fmt.Sprintf(", +%d more", more)
		}
		if !s.Waits {
			p.what = "waiting for " + p.what
		}
		return p, true
	case s.Waits && s.Begun && (s.Done < s.Total || s.Total == 0):
		p := a.waiting
		p.what = "no status of " + unheard(s) + " yet"
		return p, true
	case !s.Begun && a.step.what != "":
		return a.step, true
	default:
		return pending{}, false
	}
}

// explains stores the codes of an object's causes. It omits messages, because they may keep
// changing.
func (a *activity) explains(e event.Stalled) {
	key, codes := e.Ref.Key(), format.Codes(e.Causes)
	i := slices.IndexFunc(a.explained, func(x explanation) bool { return x.key == key })
	switch {
	case i < 0 && codes != "":
		a.explained = append(a.explained, explanation{key, codes})
	case i >= 0:
		a.explained[i].codes = codes
	}
}

// latest returns the first object with a known cause or, if there is none, the object with the
// latest news.
func (a *activity) latest() (event.Judged, string) {
	for _, x := range a.explained {
		if l, ok := a.lacking[x.key]; ok && x.codes != "" {
			return l.Judged, x.codes
		}
	}
	var latest lack
	for _, l := range a.lacking {
		if l.news > latest.news {
			latest = l
		}
	}
	return latest.Judged, shortly(latest.Judged)
}

func others(tasks []task) string {
	if len(tasks) == 0 {
		return ""
	}
	text := ", " + format.Name(tasks[0].ref)
	if more := len(tasks) - 1; more > 0 {
		text += fmt.Sprintf(", +%d more", more)
	}
	return text
}

func unheard(s *output.State) string {
	if left := s.Total - s.Done; left > 1 {
		return fmt.Sprintf("%d objects", left)
	}
	for _, phase := range s.Phases {
		if len(phase.Refs) == 1 {
			return format.Name(phase.Refs[0])
		}
	}
	return "the awaited objects"
}

func hooksText(e event.HooksLeftOut, all bool) string {
	var b strings.Builder
	b.WriteString("left out: " + text.Count(len(e.Hooks), "Helm hook") + ", for Helm to run")
	names := make([]string, len(e.Hooks))
	for i, h := range e.Hooks {
		names[i] = format.Name(h.Ref)
		if all {
			names[i] = "\n  " + names[i] + "  " + text.Printable(strings.Join(h.On, ", ")) + "  (" + text.Printable(h.Source.String()) + ")"
		}
	}
	if all {
		b.WriteString(strings.Join(names, ""))
	} else {
		b.WriteString(": " + text.List(names, few))
	}
	b.WriteString("\n")
	if e.Hint != "" {
		b.WriteString("  hint: " + text.Printable(e.Hint) + "\n")
	}
	return b.String()
}

type pending struct {
	what string
	// since is the start of the wait or work; zero means unknown. limit is its longest duration; 0
	// means no limit.
	since time.Time
	limit time.Duration
	// lacks describes what is missing, or why; it may be empty.
	lacks  string
	others string
}

const worthReporting = 3 * time.Second

func (p pending) line(now time.Time) string {
	text := p.what
	switch elapsed := now.Sub(p.since); {
	case p.since.IsZero():
	case p.limit > 0 && elapsed < time.Second:
		text += " (up to " + lasting(p.limit) + ")"
	case p.limit > 0:
		text += " (" + lasting(elapsed) + " of " + lasting(p.limit) + ")"
	case elapsed >= worthReporting:
		text += " (" + lasting(elapsed) + ")"
	}
	if p.lacks != "" {
		text += ": " + p.lacks
	}
	return text + p.others
}

func (p pending) over(now time.Time) bool {
	return p.limit > 0 && now.Sub(p.since) > p.limit
}

// lasting formats a duration, such as 45s, 5m or 1m30s.
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

const brief = 60

func reading(v event.Value) string {
	if v.Absent {
		return text.Printable(v.Expr) + " is absent"
	}
	return text.Printable(v.Expr) + " is " + format.CutMiddle(format.Value(v.Value), brief)
}

func shortly(j event.Judged) string {
	if j.Note != "" {
		return text.Printable(j.Note)
	}
	for _, c := range j.Conditions {
		if c.Met || c.Forbidden {
			continue
		}
		var read []string
		for _, v := range c.Values {
			read = append(read, reading(v))
		}
		message := strings.Join(format.Lines(c.Message), " ")
		// In a log, this line is repeated, and the rejection may be long, so it is shortened. The
		// results show the full text.
		excerpt := text.Excerpt(message)
		switch {
		case message == "false: "+text.Printable(c.For) && len(read) > 0:
			return strings.Join(read, ", ")
		case message != "" && len(read) > 0:
			return excerpt + " (" + strings.Join(read, ", ") + ")"
		case len(read) > 0:
			return strings.Join(read, ", ")
		case message != "":
			return excerpt
		default:
			return "not " + text.Printable(c.For)
		}
	}
	return ""
}

func going(e event.Terminating) string {
	if e.Text == "" {
		return fmt.Sprintf("%d of %d objects in it are gone", e.Done, e.Total)
	}
	return text.Printable(e.Text)
}
