package printer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cheggaaa/pb/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Below this many columns there is no room for a bar.
const roomForBar = 60

// live composes the line that shows, on a terminal, how far the run is. The bar
// with its counters and its rate is drawn by a library; where the line goes is
// the business of the screen.
type live struct {
	bar   *pb.ProgressBar
	width func() int
}

// What the library draws, with room for a bar and without.
const (
	barTemplate  = `{{bar . "[" "=" ">" " " "]"}} {{counters . "%s/%s"}} {{speed . "%4s/s" "      "}}`
	bareTemplate = `{{counters . "%s/%s"}} {{speed . "%4s/s" "      "}}`
)

func newLive(width func() int) *live {
	return &live{bar: pb.New(0).SetWriter(io.Discard).Set(pb.Static, true), width: width}
}

// line returns the live line; empty where there is nothing to tell yet. It
// leaves the last column free, for some terminals begin a new line after it.
func (l *live) line(c *course, hold *pending, now time.Time) string {
	width := l.columns() - 1
	if width < 10 {
		return ""
	}
	// Drawn even where it is not shown: the library measures the rate.
	bar := l.progress(c, width)
	p, ok := c.pending()
	var parts []string
	switch {
	case hold != nil && width < roomForBar:
		parts = []string{hold.line(now)}
	case hold != nil:
		parts = []string{held(c), hold.line(now)}
	case !ok:
		parts = []string{bar}
	case len(c.underway) > 0:
		parts = []string{bar, p.line(now)}
	default:
		parts = []string{held(c), p.line(now)}
	}
	return cut(strings.TrimSpace(strings.Join(parts, "  ")), width)
}

func (l *live) columns() int {
	if l.width != nil {
		if columns := l.width(); columns > 0 {
			return columns
		}
	}
	return 80
}

// progress is phase, bar, counters, rate, and what went wrong.
func (l *live) progress(c *course, width int) string {
	if c.total <= 0 {
		return ""
	}
	template, before := bareTemplate, ""
	if width >= roomForBar {
		template, before = barTemplate, phaseName(c)
	}
	// A third of the line for the bar with its figures leaves the names legible.
	l.bar.SetTemplateString(template).SetWidth(min(width/3, 40))
	drawn := l.bar.SetTotal(int64(c.total)).SetCurrent(int64(c.ended())).String()
	return before + strings.TrimSpace(drawn) + troubles(c)
}

// held is progress while nothing goes on: without a rate, and short.
func held(c *course) string {
	if c.total <= 0 {
		return ""
	}
	return fmt.Sprintf("%s%d/%d%s", phaseName(c), c.ended(), c.total, troubles(c))
}

func phaseName(c *course) string {
	phase, ok := c.phase()
	if !ok {
		return ""
	}
	return cut(clean(phase.Name), 20) + " "
}

func troubles(c *course) string {
	var text strings.Builder
	for _, trouble := range []event.Action{event.InConflict, event.Remains, event.Failed, event.Unknown} {
		if n := c.tally[trouble]; n > 0 {
			fmt.Fprintf(&text, ", %d %s", n, trouble)
		}
	}
	return text.String()
}
