package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type stuckTable struct {
	output.Base
	stuck  []event.Stuck
	roots  []event.Rooted
	unread int
}

// NewStuck returns the table of stuck objects.
func NewStuck(b output.Base) output.Results { return &stuckTable{Base: b} }

func (t *stuckTable) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Stuck:
		if e.Unread() { // The verb reports these on stderr.
			t.unread++
			return
		}
		t.stuck = append(t.stuck, e)
	case event.Rooted:
		t.roots = append(t.roots, e)
	}
}

func (t *stuckTable) Finish(context.Context) error {
	if t.unread > 0 && len(t.stuck) == 0 {
		return nil
	}
	var b strings.Builder
	rooted := map[object.Key]bool{}
	for _, root := range t.roots {
		t.root(&b, root)
		for _, ref := range root.Holds {
			rooted[ref.Key()] = true
		}
	}
	for _, s := range t.stuck {
		if !rooted[s.Ref.Key()] {
			t.object(&b, s)
		}
	}
	b.WriteString(t.summary() + "\n")
	t.Screen.Result(b.String())
	return nil
}

func (t *stuckTable) summary() string {
	switch {
	case len(t.stuck) == 0:
		return "nothing is terminating"
	case len(t.roots) == 0:
		return text.Count(len(t.stuck), "object") + " terminating"
	default:
		return fmt.Sprintf("%s terminating, %s", text.Count(len(t.stuck), "object"), text.Count(len(t.roots), "root cause"))
	}
}

func (t *stuckTable) object(b *strings.Builder, s event.Stuck) {
	fmt.Fprintf(b, "%s  %s%s\n", t.Paint.Action(event.Remains, string(event.Remains)), format.Name(s.Ref), format.TerminatingFor(s.Since, t.Now()))
	s.Causes = brief(t.Base, s.Causes)
	format.Below(b, format.Stuck(s, format.Columns(t.Width)), "    ", t.Width)
}

func (t *stuckTable) root(b *strings.Builder, r event.Rooted) {
	head := format.Causes(brief(t.Base, []event.Cause{r.Cause}))
	var title strings.Builder
	format.Below(&title, head[:1], "", t.Width)
	b.WriteString(t.Paint.Bold.Sprint(strings.TrimSpace(title.String())) + "\n")
	format.Below(b, head[1:], "", t.Width)
	fmt.Fprintf(b, "  holds back %s\n", text.Count(len(r.Holds), "object"))
	shown := r.Holds
	if len(shown) > manyPaths && !t.Verbose {
		shown = shown[:manyPaths]
	}
	more := len(r.Holds) - len(shown)
	for i, ref := range shown {
		branch := "  ├─ "
		if i == len(shown)-1 && more == 0 {
			branch = "  └─ "
		}
		b.WriteString(branch + format.Name(ref) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(b, "  └─ and %d more\n", more)
	}
	b.WriteString("\n")
}

// NewStuckNames returns the names of stuck objects.
func NewStuckNames(b output.Base) output.Results {
	return output.Together(func(stuck []event.Stuck) error {
		for _, s := range stuck {
			if !s.Unread() {
				b.Screen.Result(text.Printable(s.Ref.Resource()) + "\n")
			}
		}
		return nil
	})
}
