package progress

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// few limits the number of names on a line. The rest are counted, and listed only with -v 1.
const few = 5

// warning identifies a warning. The same text for two objects counts as two warnings. The same text
// twice for one object (first in a dry run, then in the write) counts as one.
type warning struct {
	key  object.Key
	text string
}

// message is a warning to print. If several are printed as one, their details are omitted.
type message struct {
	of           object.Ref
	text, detail string
	hint         string
}

// warn holds a warning back until the end of its object's phase, so that warnings come in plan
// order.
func (c *Reporter) warn(e event.Warned, hint string) {
	w := warning{key: e.Ref.Key(), text: e.String()}
	if c.warned[w] {
		return
	}
	c.warned[w] = true
	one := message{of: e.Ref, text: text.Printable(e.Text), detail: text.Printable(e.Detail), hint: hint}
	if e.Rewriting != event.NotRewriting {
		c.rewritten.Add(c.state.Place(e.Ref), rewriting{one, e.Rewriting == event.RewrittenInEarnest})
		return
	}
	if e.Ref == (object.Ref{}) {
		c.print(c.warning(one.text+one.detail, hint))
		return
	}
	c.warnings.Add(c.state.Place(e.Ref), one)
}

func (c *Reporter) remark(e event.Remarked) {
	if e.Code == event.Rewriters { // It belongs to the line of the rewritten values.
		c.rewriters = text.Printable(e.Text)
		return
	}
	c.warn(event.Warned{Ref: e.Ref, Text: strings.TrimPrefix(e.Path+": "+e.Text, ": ")}, e.Hint)
}

// anywhere returns the hint without the object's namespace, so that the same advice for objects in
// several namespaces is printed once.
func (m message) anywhere() string {
	if m.of.Namespace == "" {
		return m.hint
	}
	hint := strings.ReplaceAll(m.hint+" ", " -n "+text.ShellQuote(m.of.Namespace)+" ", " ")
	return strings.TrimSuffix(hint, " ")
}

// Flush writes the warnings of the current phase. Equal texts are written only once.
func (c *Reporter) Flush() { c.flush(c.state.Current) }

// End writes the remaining warnings.
func (c *Reporter) End() {
	c.leaveOut()
	c.flush(math.MaxInt)
	c.flushRewritten(c.rewritten.Drain())
}

// rewriting is a value of the input that the cluster stores otherwise. inEarnest means that dry runs do not
// show it.
type rewriting struct {
	message
	inEarnest bool
}

// flushRewritten writes a run's rewritten values as one line, because admission often rewrites the same
// field of many objects, in each run.
func (c *Reporter) flushRewritten(all []rewriting) {
	const shown = 3
	if len(all) <= 1 || c.verbose {
		for _, r := range all {
			c.print(c.warning(text.Printable(r.of.String())+": "+r.text+r.detail, differs(r.inEarnest)))
		}
		if len(all) > 0 {
			c.print(c.hint(c.rewriters))
		}
		return
	}
	objects := map[object.Key]bool{}
	inEarnest := false
	var examples []string
	for _, r := range all {
		objects[r.of.Key()] = true
		inEarnest = inEarnest || r.inEarnest
		if len(examples) < shown {
			examples = append(examples, text.Printable(r.of.String())+": "+r.text)
		}
	}
	line := fmt.Sprintf("the cluster stores %d values of the input differently (%s): %s",
		len(all), text.Count(len(objects), "object"), strings.Join(examples, "; "))
	if more := len(all) - len(examples); more > 0 {
		line += fmt.Sprintf("; and %d more (-v 1 lists each)", more)
	}
	c.print(c.warning(line, differs(inEarnest)) + c.hint(c.rewriters))
}

func differs(inEarnest bool) string {
	if !inEarnest {
		return ""
	}
	return "dry runs show the input's value, so diff reports an update in each run"
}

func (c *Reporter) flush(phase int) {
	same := func(one message) string {
		if c.verbose {
			return one.text + one.detail + "\n" + one.anywhere()
		}
		return one.text + "\n" + one.anywhere()
	}
	for _, group := range format.Grouped(c.warnings.DrainTo(phase), same) {
		first := group[0]
		if len(group) == 1 {
			c.print(c.warning(text.Printable(first.of.String())+": "+first.text+first.detail, first.hint))
			continue
		}
		names := make([]string, len(group))
		hint := first.hint
		for i, one := range group {
			names[i] = text.Printable(one.of.String())
			if one.hint != first.hint {
				hint = "for example, " + first.hint
			}
		}
		c.print(c.warning(fmt.Sprintf("%s: %s: %s", text.Count(len(group), "object"), first.text, text.List(names, c.shown())), hint))
	}
}

func (c *Reporter) shown() int {
	if c.verbose {
		return math.MaxInt
	}
	return few
}

func (c *Reporter) warning(message, hint string) string {
	var width func() int
	if c.statusLine != nil {
		width = c.statusLine.width
	}
	return format.Fit("warning: ", message, width) + "\n" + c.hint(hint)
}

func (c *Reporter) hint(hint string) string {
	if hint == "" || !c.hints.Take(hint) {
		return ""
	}
	return "  hint: " + text.Printable(hint) + "\n"
}

func (c *Reporter) leaveOut() {
	faults := c.leftOuts
	c.leftOuts = nil
	same := func(err error) string {
		if fault, place := faultOf(err); fault != nil && !c.verbose {
			return strings.TrimSuffix(strings.TrimPrefix(err.Error(), place), fault.Detail)
		}
		return err.Error()
	}
	for _, group := range format.Grouped(faults, same) {
		lines := c.hints.Explain(group[0])
		if len(group) > 1 {
			var places []string
			for _, err := range group {
				fault, place := faultOf(err)
				if fault != nil && fault.Source.Line > 0 {
					place = fault.Source.String()
				}
				places = append(places, text.Printable(strings.TrimSuffix(place, ": ")))
			}
			lines[0] = fmt.Sprintf("%d times: %s: %s", len(group), text.Printable(same(group[0])), text.List(places, c.shown()))
		}
		c.screen.Note("left out: " + strings.Join(lines, "\n  ") + "\n")
		c.annotateFaults(group)
	}
}

// annotateFaults makes a CI job show faults in the input at their places in the files.
func (c *Reporter) annotateFaults(faults []error) {
	for _, err := range faults {
		if fault, place := faultOf(err); fault != nil && c.place != nil {
			if line := c.place("error", fault.Source, strings.TrimPrefix(err.Error(), place)); line != "" {
				c.print(line + "\n")
			}
		}
	}
}

// faultOf returns the fault in an error, and the place with which the error's text starts. The rest
// of the text must come from the error, because the fault's own text may quote a Secret.
func faultOf(err error) (*object.FaultError, string) {
	fault, ok := errors.AsType[*object.FaultError](err)
	if !ok {
		return nil, ""
	}
	return fault, fault.Place()
}

// kindsAfter is the delay before a log reports awaited kinds. Most kinds are served within moments.
const kindsAfter = time.Second / 2

func (c *Reporter) awaitKind(kind string, h *pending) {
	if c.blocked == nil || len(c.kinds) == 0 {
		c.kinds = nil
	} else {
		h.since = c.blocked.since
	}
	if kind = text.Printable(kind); !slices.Contains(c.kinds, kind) {
		c.kinds = append(c.kinds, kind)
	}
	if len(c.kinds) > 1 {
		h = &pending{since: h.since, limit: h.limit, what: fmt.Sprintf("waiting for %d kinds to be served", len(c.kinds)), lacks: text.List(c.kinds, c.shown())}
	}
	c.blocked = h
}

// reportKinds reports which kinds the run is waiting for. In a log, it does so only once.
func (c *Reporter) reportKinds(now time.Time) {
	if len(c.kinds) == 0 || c.blocked == nil || now.Sub(c.blocked.since) < kindsAfter {
		return
	}
	c.holdOn(c.blocked, cmp.Or(c.blocked.lacks, c.blocked.what), c.blocked.line(now))
	c.kinds = nil
}

// annotateApplied makes a CI job show a conflict or failure at the object's place in its file.
func (c *Reporter) annotateApplied(e event.Applied) {
	switch {
	case e.Action == event.InConflict:
		paths := make([]string, len(e.Conflicts))
		for i, conflict := range e.Conflicts {
			paths[i] = conflict.Path.String()
		}
		c.annotateConflict(e.Source, e.Ref, paths)
	case e.Action != event.Skipped:
		c.annotate(e.Source, e.Ref, e.Err)
	}
}

func (c *Reporter) annotateCompared(e event.Compared) {
	var paths []string
	for _, change := range e.Changes {
		if change.Kind == managedfields.Contested {
			paths = append(paths, change.Path.String())
		}
	}
	if len(paths) > 0 {
		c.annotateConflict(e.Source, e.Ref, paths)
		return
	}
	c.annotate(e.Source, e.Ref, e.Err)
}

func (c *Reporter) annotateConflict(at object.Source, of object.Ref, paths []string) {
	c.annotate(at, of, fmt.Errorf("conflict: others own %s", text.List(paths, few)))
}

func (c *Reporter) annotate(at object.Source, of object.Ref, err error) {
	if c.place == nil || err == nil {
		return
	}
	var field interface{ Written() object.Source }
	if errors.As(err, &field) && field.Written().Line > 0 {
		at = field.Written()
	}
	if line := c.place("error", at, format.Name(of)+": "+strings.Join(format.Lines(err.Error()), "\n")); line != "" {
		c.print(line + "\n")
	}
}

// annotateUses makes a CI job show deprecated uses at their places in the files.
func (c *Reporter) annotateUses(e event.Deprecations) {
	if c.place == nil {
		return
	}
	for _, u := range e.Uses {
		for _, at := range u.Sources {
			if line := c.place("warning", at, format.Name(u.Ref)+": "+text.Printable(u.Text)); line != "" {
				c.print(line + "\n")
			}
		}
	}
}
