package table

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewUnmanaged returns the table of the objects that no tool manages.
func NewUnmanaged(b output.Base) output.Results {
	return output.Printed(b, func(u event.Unmanaged) string {
		var out strings.Builder
		if len(u.Found) > 0 {
			rows := [][]string{{"OBJECT", "MADE BY", "CREATED", "LAST WRITE"}}
			short := [][]string{{"OBJECT", "MADE BY", "CREATED"}}
			for _, o := range u.Found {
				row := []string{format.Name(o.Ref), format.Manager(o.Manager), agoOf(o.Created, b.Now()), agoOf(o.Written, b.Now())}
				rows, short = append(rows, row), append(short, row[:3:3])
			}
			out.WriteString(format.AlignedFirst(b.Width, rows, short) + "\n")
		}
		message := text.Count(len(u.Found), "unmanaged object") + " of " + text.Count(u.Objects, "object") + text.Printable(u.Where)
		out.WriteString(format.Fit("", message, b.Width) + "\n")
		return out.String()
	})
}

func agoOf(at, now time.Time) string {
	if at.IsZero() {
		return "unknown"
	}
	return duration.ShortHumanDuration(max(0, now.Sub(at))) + " ago"
}
