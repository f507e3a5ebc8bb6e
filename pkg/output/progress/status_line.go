package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// roomForBar is the narrowest terminal that has room for a bar.
const roomForBar = 60

// statusLine composes the status line. The screen places it.
type statusLine struct {
	rate  rate
	width func() int
}

// line returns the status line; empty if there is nothing to report yet. It leaves the last column
// free, because some terminals wrap after it.
func (l *statusLine) line(a *activity, blocked *pending, now time.Time) string {
	width := l.columns() - 1
	if width < 10 {
		return ""
	}
	c := a.state
	l.rate.observe(c.Ended(), now) // Even if it is not shown.
	p, ok := a.pending()
	var parts []string
	switch {
	case blocked != nil && width < roomForBar:
		parts = []string{blocked.line(now)}
	case blocked != nil:
		parts = []string{held(c), blocked.line(now)}
	case !ok:
		parts = []string{l.progress(c, width)}
	case len(a.underway) > 0:
		parts = []string{l.progress(c, width), p.line(now)}
	default:
		parts = []string{held(c), p.line(now)}
	}
	return format.Cut(strings.TrimSpace(strings.Join(parts, "  ")), width)
}

func (l *statusLine) columns() int {
	if l.width != nil {
		if columns := l.width(); columns > 0 {
			return columns
		}
	}
	return 80
}

func (l *statusLine) progress(c *output.State, width int) string {
	if c.Total <= 0 {
		return ""
	}
	counted := fmt.Sprintf("%d/%d", c.Ended(), c.Total)
	figures := counted + l.rate.String()
	if width < roomForBar {
		return figures + troubles(c)
	}
	// The bar with its figures takes a third of the line, so that names remain legible. It always
	// leaves room for a rate, so that it does not jump.
	drawn := bar(c.Ended(), c.Total, min(width/3, 40)-len(" ")-len(counted)-rateWidth)
	return phaseName(c) + strings.TrimSpace(drawn+" "+figures) + troubles(c)
}

// held returns the progress of a blocked run: short, without a rate.
func held(c *output.State) string {
	if c.Total <= 0 {
		return ""
	}
	return fmt.Sprintf("%s%d/%d%s", phaseName(c), c.Ended(), c.Total, troubles(c))
}

func phaseName(c *output.State) string {
	phase, ok := c.Phase()
	if !ok {
		return ""
	}
	return format.Cut(text.Printable(phase.Name), 20) + " "
}
