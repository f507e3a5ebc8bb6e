package progress

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// widthOfBar is the narrowest terminal that shows a bar.
const widthOfBar = 60

type statusLine struct {
	rate  rate
	width func() int
}

// line returns the status line. It leaves the last column free, because some terminals wrap after
// it.
func (l *statusLine) line(a *activity, blocked *pending, now time.Time) string {
	width := l.columns() - 1
	if width < 10 {
		return ""
	}
	c := a.state
	l.rate.observe(c.Ended(), now) // The rate is measured even if it is not shown.
	p, ok := a.pending()
	var parts []string
	switch {
	case blocked != nil && width < widthOfBar:
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
	if width < widthOfBar {
		return figures + troubles(c)
	}
	// The bar and its figures take up a third of the line, which leaves enough room for names. Room
	// for the rate is always reserved, so that the bar keeps its width.
	drawn := bar(c.Ended(), c.Total, min(width/3, 40)-len(" ")-len(counted)-rateWidth)
	return phaseName(c) + strings.TrimSpace(drawn+" "+figures) + troubles(c)
}

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

const mostWorkloads = 5

func hasReplicas(kind schema.GroupKind) bool {
	switch kind.Group {
	case "apps":
		return slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}, kind.Kind)
	case "batch":
		return kind.Kind == "Job"
	default:
		return kind.Group == "" && kind.Kind == "ReplicationController"
	}
}

func (a *activity) workloads() []lack {
	var all []lack
	for _, l := range a.lacking {
		if hasReplicas(l.Ref.GVK.GroupKind()) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(x, y lack) int { return cmp.Compare(x.first, y.first) })
	return all[:min(len(all), mostWorkloads)]
}

// lines returns the status line, and the lines above it: one for each finding and for each
// workload.
func (l *statusLine) lines(a *activity, blocked *pending, now time.Time) (line string, above []string) {
	line = l.line(a, blocked, now)
	width := l.columns() - 1
	shown := a.workloads()
	for _, one := range a.found {
		above = append(above, format.Cut("  "+text.Printable(one), width))
	}
	if blocked != nil || len(a.underway) > 0 || width < widthOfBar || len(shown) == 0 {
		return line, above
	}
	p, _ := a.pending()
	if len(a.lacking) == 1 {
		p.lacks = replicas(shown[0].Judged)
		if one := held(a.state) + "  " + p.line(now); format.Cells(one) <= width {
			return strings.TrimSpace(one), nil
		}
	}
	names := 0
	for _, w := range shown {
		names = max(names, format.Cells(format.Name(w.Ref)))
	}
	names = min(names, width/2)
	for _, w := range shown {
		above = append(above, format.Cut("  "+format.Pad(format.Cut(format.Name(w.Ref), names), names)+"  "+replicas(w.Judged), width))
	}
	p.what, p.lacks, p.others = "waiting for "+text.Count(len(a.lacking), "object"), "", ""
	if a.state.Waits { // The line already starts with it.
		p.what = ""
	}
	if other, ok := a.latestBut(shown); ok {
		p.lacks = format.Name(other.Ref) + ": " + shortly(other)
		if more := len(a.lacking) - len(shown) - 1; more > 0 {
			p.others = fmt.Sprintf(", +%d more", more)
		}
	}
	return format.Cut(strings.TrimSpace(held(a.state)+"  "+strings.TrimSpace(p.line(now))), width), above
}

func (a *activity) latestBut(shown []lack) (latest event.Judged, ok bool) {
	news := 0
	for key, l := range a.lacking {
		isShown := slices.ContainsFunc(shown, func(s lack) bool { return s.Ref.Key() == key })
		if !isShown && l.news > news {
			latest, news, ok = l.Judged, l.news, true
		}
	}
	return latest, ok
}

func replicas(j event.Judged) string {
	for _, c := range j.Conditions {
		if c.For == "ready" && !c.Met && j.Note == "" && c.Message != "" {
			return strings.Join(format.Lines(c.Message), " ")
		}
	}
	return shortly(j)
}

func bar(done, total, width int) string {
	inner := width - len("[]")
	if total <= 0 || inner < 1 {
		return ""
	}
	// The bar shows even the slightest progress, and is full only when everything is done.
	filled := (min(done, total)*inner + total - 1) / total
	return "[" + strings.Repeat("=", max(0, filled-1)) + strings.Repeat(">", min(1, filled)) + strings.Repeat(" ", inner-filled) + "]"
}

const (
	rateEvery = time.Second / 2
	// rateMemory is the period over which the rate is measured.
	rateMemory = 10 * time.Second
	rateWidth  = len(" 1234/s")
)

type rate struct {
	began, at time.Time
	done      int
	perSecond float64
}

func (r *rate) observe(done int, now time.Time) {
	if r.at.IsZero() || done < r.done { // A new run has begun.
		*r = rate{began: now, at: now, done: done}
		return
	}
	elapsed := now.Sub(r.at)
	if elapsed < rateEvery {
		return
	}
	memory := min(rateMemory, now.Sub(r.began))
	weight := 1 - math.Exp(-elapsed.Seconds()/memory.Seconds())
	if r.at.Equal(r.began) {
		weight = 1
	}
	r.perSecond += weight * (float64(done-r.done)/elapsed.Seconds() - r.perSecond)
	r.at, r.done = now, done
}

func (r *rate) String() string {
	switch {
	case r.perSecond < 0.05:
		return ""
	case r.perSecond < 0.95:
		return fmt.Sprintf(" %4.1f/s", r.perSecond)
	default:
		return fmt.Sprintf(" %4.0f/s", r.perSecond)
	}
}

func soFar(s *output.State) string {
	if s.Total <= 0 || s.Word.Text == "" {
		return ""
	}
	return fmt.Sprintf("%d of %d %s%s", s.Good(), s.Total, s.Word.Text, troubles(s))
}

func troubles(s *output.State) string {
	var text strings.Builder
	for _, trouble := range []event.Action{event.InConflict, event.Remains, event.Failed, event.Unknown} {
		if n := s.Tally[trouble]; n > 0 {
			fmt.Fprintf(&text, ", %d %s", n, trouble)
		}
	}
	return text.String()
}

func title(s *output.State) string {
	phase, ok := s.Phase()
	switch {
	case !ok:
		return ""
	case len(s.Phases) == 1:
		return text.Printable(phase.Name)
	default:
		return fmt.Sprintf("phase %d of %d, %s", s.Current+1, len(s.Phases), text.Printable(phase.Name))
	}
}
