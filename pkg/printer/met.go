package printer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// metObjects writes something of each object that met its conditions; what did not
// goes to stderr as it would in a table, for stdout has no place for it.
type metObjects struct {
	base
	write func(event.Waited) (string, error)
	// around stands around the texts; nil is nothing.
	around  *objectWriter
	texts   planOrdered[string]
	table   *waitTable
	failure error
}

func newMetObjects(b base, write func(event.Waited) (string, error)) *metObjects {
	return &metObjects{base: b, write: write, table: &waitTable{base: b.beside(), quiet: true}}
}

// newMetNames writes names, as kubectl -o name does.
func newMetNames(b base) *metObjects {
	return newMetObjects(b, func(w event.Waited) (string, error) { return text.Printable(w.Ref.Resource()) + "\n", nil })
}

// newMetObjectsAs writes each object in a format of objects.
func newMetObjectsAs(b base, w *objectWriter) *metObjects {
	m := newMetObjects(b, func(met event.Waited) (string, error) {
		if met.Object == nil {
			return "", nil // It met its conditions by not being there.
		}
		return w.write(met.Object)
	})
	m.around = w
	return m
}

// braced reads the short forms that kubectl allows: x.y and .x.y for {.x.y}.
func braced(template string) string {
	switch {
	case template == "", strings.Contains(template, "{"):
		return template
	case strings.HasPrefix(template, "."):
		return "{" + template + "}"
	default:
		return "{." + template + "}"
	}
}

func (m *metObjects) take(e event.Event) {
	w, ok := e.(event.Waited)
	if !ok {
		return
	}
	m.table.take(e)
	if w.Action != event.Met {
		return
	}
	text, err := m.write(w)
	if err != nil && m.failure == nil {
		m.failure = fmt.Errorf("%s: %w", label(w.Ref), err)
	}
	if text != "" {
		m.texts.add(m.progress.place(w.Ref), text)
	}
}

func (m *metObjects) flush() {}

func (m *metObjects) finish(ctx context.Context) error {
	around := objectWriter{}
	if m.around != nil {
		around = *m.around
	}
	m.screen.result(around.begin + strings.Join(m.texts.drain(), around.between) + around.end)
	if err := m.table.finish(ctx); err != nil {
		return err
	}
	return m.failure
}

func sortedKeys(values map[string]any) []string { return slices.Sorted(maps.Keys(values)) }
