package printer

import (
	"context"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// ForStuck returns a printer for what stuck finds. The error names a format that
// there is not.
func ForStuck(o Options) (*Printer, error) {
	return newPrinter(o, word{}, func(b base) results {
		switch b.Format {
		case Table:
			return &stuckTable{base: b}
		case JSON, YAML, KYAML:
			return &stuckDocument{base: b, warnings: warnings{}}
		case JUnit:
			return &logged{&stuckDocument{base: b, warnings: warnings{}}, &stuckTable{base: b.beside()}}
		case Name:
			return &stuckNames{base: b}
		case Stream:
			return &stream{base: b}
		default:
			return nil
		}
	})
}

// stuckTable is what a person reads: each object with its causes; or, where there
// are roots, a tree of these, each with all that it holds back.
type stuckTable struct {
	base
	stuck []event.Stuck
	roots []event.Rooted
	// unread is of how many objects nothing is known.
	unread int
}

func (t *stuckTable) take(e event.Event) {
	switch e := e.(type) {
	case event.Stuck:
		if e.Unread() { // The verb says that on stderr.
			t.unread++
			return
		}
		t.stuck = append(t.stuck, e)
	case event.Rooted:
		t.roots = append(t.roots, e)
	}
}

func (t *stuckTable) flush() {}

func (t *stuckTable) finish(context.Context) error {
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
	t.screen.result(b.String())
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
	fmt.Fprintf(b, "%s  %s%s\n", t.paint.action(event.Remains, string(event.Remains)), label(s.Ref), terminatingFor(s.Since, t.Now()))
	below(b, stuckLines(s, columnsOf(t.Width)), "    ", t.Width)
}

// stuckLines are the causes, and what kept us from finding all of them.
func stuckLines(s event.Stuck, columns int) []string {
	text := causeLines(s.Causes)
	if len(text) == 0 && s.Err == nil {
		text = []string{"no cause was found"}
	}
	for _, line := range forPeople(s.Err, columns) {
		text = append(text, "could not tell: "+line)
	}
	return text
}

// root writes one cause, and below it as a tree what it holds back.
func (t *stuckTable) root(b *strings.Builder, r event.Rooted) {
	head := causeLines([]event.Cause{r.Cause})
	var title strings.Builder
	below(&title, head[:1], "", t.Width)
	b.WriteString(t.paint.bold.Sprint(strings.TrimSpace(title.String())) + "\n")
	below(b, head[1:], "", t.Width)
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
		b.WriteString(branch + label(ref) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(b, "  └─ and %d more\n", more)
	}
	b.WriteString("\n")
}

// stuckNames writes the names of what is stuck.
type stuckNames struct {
	base
	names []string
}

func (n *stuckNames) take(e event.Event) {
	if s, ok := e.(event.Stuck); ok && !s.Unread() {
		n.names = append(n.names, text.Printable(s.Ref.Resource())+"\n")
	}
}

func (n *stuckNames) flush() {}

func (n *stuckNames) finish(context.Context) error {
	n.screen.result(strings.Join(n.names, ""))
	return nil
}
