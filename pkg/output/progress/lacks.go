package progress

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// brief limits the width of a value in a progress line. Results show the whole value if there is
// room.
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
		// A log repeats the line, and the rejection in it may be long. Results have all of it.
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

func going(e event.Going) string {
	if e.Text == "" {
		return fmt.Sprintf("%d of %d objects in it are gone", e.Done, e.Total)
	}
	return text.Printable(e.Text)
}
