package printer

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// JSONPath is a format of ForWait, followed by = and a template as kubectl takes it.
const JSONPath = "jsonpath"

// metObjects writes something of each object that met its conditions; what did not
// goes to stderr as it would in a table, for stdout has no place for it.
type metObjects struct {
	base
	write func(event.Waited) (string, error)
	// between stands between two texts.
	between string
	texts   planned[string]
	table   *waitTable
	failure error
}

func newMetObjects(b base, write func(event.Waited) (string, error)) *metObjects {
	beside := b
	beside.paint = newPalette(false)
	beside.Width = nil
	beside.screen = b.screen.notes()
	return &metObjects{base: b, write: write, table: &waitTable{base: beside, quiet: true}}
}

// newMetNames writes names, as kubectl -o name does.
func newMetNames(b base) *metObjects {
	return newMetObjects(b, func(w event.Waited) (string, error) { return clean(w.Ref.Resource()) + "\n", nil })
}

// newMetYAML writes whole objects, a document each.
func newMetYAML(b base) *metObjects {
	m := newMetObjects(b, func(w event.Waited) (string, error) {
		if w.Object == nil {
			return "", nil // It met its conditions by not being there.
		}
		text, err := encode(w.Object.Object, "  ")
		if err == nil {
			text, err = yaml.JSONToYAML(text)
		}
		return string(text), err
	})
	m.between = "---\n"
	return m
}

// newMetPaths writes what a template finds in each object, on a line of its own.
func newMetPaths(b base, template string) (*metObjects, error) {
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(braced(template)); err != nil {
		return nil, fmt.Errorf("jsonpath: %w", err)
	}
	return newMetObjects(b, func(w event.Waited) (string, error) {
		if w.Object == nil {
			return "", nil
		}
		var found bytes.Buffer
		if err := path.Execute(&found, w.Object.Object); err != nil {
			return "", err
		}
		text := strings.TrimSuffix(found.String(), "\n") + "\n"
		if b.Width != nil { // A terminal; a script gets the value as it is.
			text = escape(text, func(r rune) bool { return r == '\n' || r == '\t' })
		}
		return text, nil
	}), nil
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
		m.texts.add(m.course.place(w.Ref), text)
	}
}

func (m *metObjects) flush() {}

func (m *metObjects) finish(ctx context.Context) error {
	m.screen.result(strings.Join(m.texts.drain(), m.between))
	if err := m.table.finish(ctx); err != nil {
		return err
	}
	return m.failure
}

func sortedKeys(values map[string]any) []string { return slices.Sorted(maps.Keys(values)) }
