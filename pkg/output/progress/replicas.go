package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// mostWorkloads is how many workloads get their own line on a terminal.
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

// workloads returns the awaited workloads, in the order of their first report.
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

// lines returns the status line and the lines above it, one for each workload with its replicas. A
// single workload is shown in the status line if there is room.
func (l *statusLine) lines(a *activity, blocked *pending, now time.Time) (line string, above []string) {
	line = l.line(a, blocked, now)
	width := l.columns() - 1
	shown := a.workloads()
	for _, one := range a.found {
		above = append(above, format.Cut("  "+text.Printable(one), width))
	}
	if blocked != nil || len(a.underway) > 0 || width < roomForBar || len(shown) == 0 {
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
	if a.state.Waits { // The line begins with that.
		p.what = ""
	}
	if other, ok := a.latestBut(shown); ok {
		p.lacks = format.Name(other.Ref) + ": " + shortly(other)
		if more := len(a.lacking) - len(shown) - 1; more > 0 {
			p.others = fmt.Sprintf(", +%d", more)
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

// replicas returns readiness's message, which counts the replicas, without the values that it read.
func replicas(j event.Judged) string {
	for _, c := range j.Conditions {
		if c.For == "ready" && !c.Met && j.Note == "" && c.Message != "" {
			return strings.Join(format.Lines(c.Message), " ")
		}
	}
	return shortly(j)
}
