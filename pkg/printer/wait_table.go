package printer

import (
	"context"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// ForWait returns a printer for the events of a wait. Its formats yaml, kyaml and
// those of objects are the objects that met their conditions; the report about
// them is in json, junit and stream. The error names a format that there is not, or
// what is wrong with the template.
func ForWait(o Options) (*Printer, error) {
	var fault error
	met := word{text: "met", good: []event.Action{event.Met}, awaited: true}
	p, err := newPrinter(o, met, func(b base) results {
		switch b.Format {
		case YAML:
			b.Format = Objects
		case KYAML:
			b.Format = ObjectsKYAML
		}
		var writer *objectWriter
		writer, fault = objectFormat(b)
		switch {
		case writer != nil:
			return newMetObjectsAs(b, writer)
		case b.Format == Table:
			return &waitTable{base: b}
		case b.Format == JSON:
			return &waitDocument{base: b, warnings: warnings{}}
		case b.Format == JUnit:
			return &logged{&waitDocument{base: b, warnings: warnings{}}, &waitTable{base: b.beside()}}
		case b.Format == Name:
			return newMetNames(b)
		case b.Format == Stream:
			return &stream{base: b, actions: waitActions()}
		default:
			return nil
		}
	})
	if fault != nil {
		return nil, fault
	}
	if err == nil {
		p.progress.waits = true
	}
	return p, err
}

// WantsObjects reports whether a format of ForWait prints the objects themselves.
func WantsObjects(format string) bool {
	return format == YAML || format == KYAML || IsOfObjects(format)
}

// waitTable is what a person reads: one line an object; below those that are not
// met what their conditions read, and the causes.
type waitTable struct {
	base
	waited planOrdered[event.Waited]
	// quiet: what was met is told in another way.
	quiet bool
}

func (t *waitTable) take(e event.Event) {
	if w, ok := e.(event.Waited); ok {
		t.waited.add(t.progress.place(w.Ref), w)
	}
}

func (t *waitTable) flush() {}

func (t *waitTable) finish(context.Context) error {
	var b strings.Builder
	var bad []event.Waited
	listed := t.Verbose || t.progress.total <= oneScreen
	for _, w := range t.waited.drain() {
		switch {
		case w.Action != event.Met:
			bad = append(bad, w)
		case !t.quiet && (listed || w.Note != ""):
			t.waitedLine(&b, w, len(event.TimedOut))
		}
	}
	for _, w := range bad {
		t.waitedLine(&b, w, len(event.TimedOut))
	}
	b.WriteString(waitSummary(t.progress) + "\n")
	t.screen.result(b.String())
	return nil
}

// waitedLine writes an object, and what it lacks. width is that of the first column.
func (b base) waitedLine(text *strings.Builder, w event.Waited, width int) {
	text.WriteString(b.paint.action(w.Action, pad(string(w.Action), width)) + "  " + label(w.Ref))
	if note := strings.Join(lines(w.Note), "; "); note != "" {
		text.WriteString(": " + note)
	}
	text.WriteString("\n")
	below(text, waitedLines(w, within(b.Width, "    ")), "    ", b.Width)
}

// waitedLines are what there is to say of an object that is not met.
func waitedLines(w event.Waited, room int) []string {
	if w.Action == event.Met {
		return nil
	}
	text := forPeople(w.Err, room)
	if w.Action != event.Gone && w.Action != event.Unselected {
		text = append(text, conditionLines(w.Conditions, room)...)
	}
	return append(text, causeLines(w.Causes)...)
}
