package progress

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func plainRetry(e event.Retrying) string {
	text, why := "the API server does not answer", ": "+oneLine(e.Err)
	code := answered(e.Err)
	switch {
	case e.Ref != (object.Ref{}):
		text = "the request for " + format.Name(e.Ref) + " failed"
	case isStarting(e.Err):
		text, why = oneLine(e.Err), "" // The server answered, so the error describes the problem.
	case code != 0:
		text = fmt.Sprintf("the API server returned %d", code)
	}
	text += ", trying again"
	if e.Left.Round(time.Second) > 0 {
		text += " for up to " + seconds(e.Left)
	}
	return text + why
}

func isStarting(err error) bool {
	var starting interface{ Starting() bool }
	return errors.As(err, &starting)
}

// answered returns the status code if the API server itself answered. It returns 0 if there was no
// response, or only a gateway's response.
func answered(err error) int32 {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return 0
	}
	s := status.Status()
	if s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	}) {
		return 0
	}
	return s.Code
}

func oneLine(err error) string {
	if err == nil {
		return "no reason given"
	}
	return text.Printable(err.Error())
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%d s", int64(max(0, d).Round(time.Second)/time.Second))
}

// root returns the innermost error, which describes the problem most briefly, for example
// "connection refused".
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

const goingEvery = 3 * time.Second

// going reports the progress of a deletion. It always updates the status line, and occasionally
// prints a plain line.
func (c *Reporter) going(e event.Terminating) {
	if c.activity.taskOf(e.Ref) < 0 { // The news of an object in progress is shown elsewhere.
		c.blocked = &pending{what: format.Name(e.Ref), lacks: going(e)}
	}
	key := e.Ref.Key()
	if e.Text != "" && !c.verbose {
		if c.message[e.Text] {
			return // Objects with the same news share one line.
		}
		c.message[e.Text] = true
	}
	if c.statusLine == nil && c.now().Sub(c.milestones[key]) >= goingEvery {
		c.milestones[key] = c.now()
		c.printLine(format.Name(e.Ref) + ": " + going(e))
	}
}

func (c *Reporter) columns() func() int {
	if c.statusLine == nil {
		return nil
	}
	return c.statusLine.columns
}

// Reported reports whether the causes of a stuck object were printed.
func (c *Reporter) Reported(d event.Deleted) bool {
	return c.knows(d.Ref, format.Roots(d.Ref, d.Causes))
}

// knows reports whether all of these causes were reported for the object.
func (c *Reporter) knows(ref object.Ref, roots map[event.RootKey]bool) bool {
	earlier, known := map[event.RootKey]bool{}, false
	for _, e := range c.reported {
		if e.Ref.Key() == ref.Key() {
			known = true
			maps.Copy(earlier, format.Roots(e.Ref, e.Causes))
		}
	}
	for root := range roots {
		known = known && earlier[root]
	}
	return known
}

// stuck reports why an object is stuck. If many objects share a cause, it reports only the first of
// them; the results list all.
func (c *Reporter) stuck(e event.Stuck) {
	c.hangs("still there: "+format.Name(e.Ref)+format.TerminatingFor(e.Since, c.now()), "more objects are still there for the same reason\n", e)
}

func (c *Reporter) stalled(e event.Stalled) {
	c.hangs("no progress: "+format.Name(e.Ref)+format.TerminatingFor(e.Since, c.now()), "more objects are making no progress for the same reason\n",
		event.Stuck{Ref: e.Ref, Since: e.Since, Causes: e.Causes})
}

// hangs prints each cause in full once. Further objects with the same causes get a short line, and many of
// them share one. An object is reported again if it has a cause that was not reported for it.
func (c *Reporter) hangs(head, more string, e event.Stuck) {
	const many = 3
	roots := format.Roots(e.Ref, e.Causes)
	if c.knows(e.Ref, roots) {
		return
	}
	same := 0
	printed := map[event.RootKey]bool{}
	for _, before := range c.reported {
		others := format.Roots(before.Ref, before.Causes)
		maps.Copy(printed, others)
		if before.Ref.Key() != e.Ref.Key() && maps.Equal(others, roots) {
			same++
		}
	}
	c.reported = append(c.reported, e)
	switch {
	case same == 0:
		var b strings.Builder
		b.WriteString(head + "\n")
		if e.Causes = c.doubts.Once(referring(e, printed)); !c.verbose {
			e.Causes = format.Brief(e.Causes)
		}
		format.Below(&b, format.Stuck(e, format.Columns(c.columns())), "    ", c.columns())
		c.print(b.String())
	case same < many:
		c.print(head + ", for the same reason\n")
	case same == many:
		c.print(more)
	}
}

// referring returns an object's causes, with references to those that were printed before.
func referring(e event.Stuck, printed map[event.RootKey]bool) []event.Cause {
	causes := slices.Clone(e.Causes)
	for i, c := range causes {
		if !c.Doubt && printed[c.Root(e.Ref)] {
			causes[i] = event.Cause{Code: c.Code, Message: "see above"}
		}
	}
	return causes
}
