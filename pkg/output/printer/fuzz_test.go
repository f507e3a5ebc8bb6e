package printer_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// FuzzEvents prints unlikely events in every format of both verbs. Nothing panics, documents can be
// parsed, and no control character reaches a terminal.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08 \x1b[2J a\nb \u202e \xff\x9b"), 80)
	f.Add([]byte(strings.Repeat("\x03\x07name\x1b\x05\x01\x02\x09\u0085 x", 20)), 0)
	f.Add([]byte(strings.Repeat("\x04\x02\x01\x05abc\n\x06\x03\x08\r\x7f", 30)), 40)
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		events := imagine(data)
		for _, report := range []printer.Report{printer.OfApply, printer.OfDiff} {
			for _, format := range []string{output.Table, output.JSON, output.YAML, output.Name, output.Stream, output.JUnit} {
				var out, err bytes.Buffer
				p, failure := printer.For(report, output.Options{Out: &out, Err: &err, Format: format, Width: columns(width), Verbose: len(data)%2 == 0})
				if failure != nil {
					t.Fatal(failure)
				}
				for _, e := range events {
					p.Print(e)
				}
				if failure := p.Close(t.Context()); failure != nil {
					t.Errorf("%s: %v", format, failure)
				}
				readable(t, format, out.String())
				harmless(t, err.String())
			}
		}
	})
}

// FuzzLive prints unlikely events with a status line. Nothing panics, and no control character
// reaches a terminal.
func FuzzLive(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08 \x1b[2J a\nb \u202e \xff\x9b"), 80)
	f.Add([]byte("\x06\x05\x05abc"), 12)
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		term := watch(t, printer.OfApply, columns(width), func(_ *terminal, p *printer.Printer) {
			for _, e := range imagine(data) {
				p.Print(e)
				pass(200 * time.Millisecond)
			}
		})
		for _, frame := range term.frames {
			harmless(t, frame)
		}
	})
}

func readable(t *testing.T, format, text string) {
	t.Helper()
	var err error
	switch format {
	case output.JSON:
		err = json.Unmarshal([]byte(text), &struct{}{})
		harmless(t, text)
	case output.Stream:
		for line := range strings.Lines(text) {
			err = errors.Join(err, json.Unmarshal([]byte(line), &struct{}{}))
		}
		harmless(t, text)
	case output.YAML:
		err = yaml.Unmarshal([]byte(text), &struct{}{})
		harmless(t, text)
	case output.JUnit:
		err = xml.NewDecoder(strings.NewReader(text)).Decode(&struct{}{})
		harmless(t, text)
	default:
		harmless(t, text)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("%s cannot be read: %v\n%s", format, err, text)
	}
}

// harmless reports whether the text contains nothing but characters that a terminal displays.
func harmless(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("control character %q in %q", r, text)
			return
		}
	}
}

// imagine decodes bytes as a series of events.
func imagine(data []byte) []event.Event {
	s := &seed{data: data}
	var events []event.Event
	for len(s.data) > 0 && len(events) < 50 {
		events = append(events, s.event())
	}
	return events
}

type seed struct{ data []byte }

func (s *seed) number(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

func (s *seed) text() string {
	n := min(s.number(24), len(s.data))
	text := string(s.data[:n])
	s.data = s.data[n:]
	return text
}

func (s *seed) event() event.Event {
	switch s.number(9) {
	case 0:
		return event.Planned{Phases: []event.Phase{
			{Name: s.text(), Total: s.number(99) - 3, Refs: []object.Ref{s.ref()}},
			{Name: s.text(), Total: s.number(99)},
		}}
	case 1:
		return event.PhaseStarted{Index: s.number(6) - 2}
	case 2:
		return event.Started{Ref: s.ref()}
	case 3:
		return event.Applied{
			Ref: s.ref(), Action: s.action(), Err: s.err(), Source: object.Source{File: s.text(), Line: s.number(9)},
			Conflicts: s.conflicts(), Removed: s.changes(), Released: s.changes(), Taken: s.changes(),
			Yielded: []fieldpath.Path{s.path()}, Adopted: []string{s.text()}, DryRun: s.number(2) == 1,
		}
	case 4:
		return event.Compared{
			Ref: s.ref(), Action: s.action(), Err: s.err(), Reason: s.text(), Changes: s.changes(),
			Before: s.projection(), After: s.projection(),
		}
	case 5:
		return event.Warned{Ref: s.ref(), Text: s.text()}
	case 6:
		return event.Retrying{Ref: s.ref(), Err: s.err(), In: time.Duration(s.number(99)-9) * time.Second, Left: time.Duration(s.number(99)-9) * time.Second}
	case 7:
		return event.Reachable{}
	default:
		return event.Waiting{Ref: s.ref(), For: s.text()}
	}
}

func (s *seed) action() event.Action {
	known := []event.Action{
		event.Created, event.Configured, event.Unchanged, event.InConflict, event.Failed, event.Skipped, event.Pruned, event.Kept,
		event.Create, event.Update, event.Delete, event.None, event.Unknown, "another", "",
	}
	return known[s.number(len(known))]
}

func (s *seed) ref() object.Ref {
	if s.number(4) == 0 {
		return object.Ref{}
	}
	return object.Ref{
		GVK:       schema.GroupVersionKind{Group: s.text(), Version: s.text(), Kind: s.text()},
		Namespace: s.text(), Name: s.text(),
	}
}

func (s *seed) err() error {
	switch s.number(4) {
	case 0:
		return nil
	case 1:
		return errors.Join(hinted{errors.New(s.text()), s.text()}, errors.New(s.text()))
	default:
		return hinted{forbidden(s.text()), s.text()}
	}
}

func (s *seed) path() fieldpath.Path {
	return fieldpath.Field(s.text(), s.text())
}

func (s *seed) conflicts() []managedfields.Conflict {
	list := make([]managedfields.Conflict, s.number(4))
	for i := range list {
		list[i] = managedfields.Conflict{Path: s.path(), Yours: s.value(), Live: s.value(), HasLive: s.number(2) == 0, Owners: s.owners()}
	}
	return list
}

func (s *seed) changes() []managedfields.Change {
	kinds := []managedfields.ChangeKind{
		managedfields.Added, managedfields.Removed, managedfields.Changed, managedfields.Contested, managedfields.Released, "another",
	}
	list := make([]managedfields.Change, s.number(14))
	for i := range list {
		list[i] = managedfields.Change{
			Path: s.path(), From: s.value(), To: s.value(), Kind: kinds[s.number(len(kinds))], Owners: s.owners(), Atomic: s.number(2) == 0,
		}
	}
	return list
}

func (s *seed) owners() []managedfields.Owner {
	list := make([]managedfields.Owner, s.number(3))
	for i := range list {
		list[i] = managedfields.Owner{Manager: s.text(), Operation: s.text(), Subresource: s.text(), Time: time.Unix(int64(s.number(200))<<24, 0)}
	}
	return list
}

func (s *seed) value() any {
	switch s.number(6) {
	case 0:
		return nil
	case 1:
		return int64(s.number(200))
	case 2:
		return map[string]any{s.text(): s.text()}
	case 3:
		return []any{s.text(), true, 0.5}
	default:
		return s.text()
	}
}

func (s *seed) projection() map[string]any {
	if s.number(3) == 0 {
		return nil
	}
	return map[string]any{s.text(): s.value(), s.text(): s.value()}
}
