package printer

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/gotemplate"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Formats of the objects themselves, not of a report about them. The last two are
// followed by = and a template as kubectl takes it.
const (
	Objects      = "objects"
	ObjectsJSON  = "objects=json"
	ObjectsKYAML = "objects=kyaml"
	JSONPath     = "jsonpath"
	GoTemplate   = "go-template"
)

// IsOfObjects reports whether a format prints the objects themselves.
func IsOfObjects(format string) bool {
	return format == Objects || format == ObjectsJSON || format == ObjectsKYAML ||
		strings.HasPrefix(format, JSONPath+"=") || strings.HasPrefix(format, GoTemplate+"=")
}

// objectWriter writes objects in one of those formats.
type objectWriter struct {
	write func(u *unstructured.Unstructured) (string, error)
	// begin, between and end stand around the texts of the objects.
	begin, between, end string
}

// objectFormat returns the writer of a format; nil if it is none of objects. The
// error says what is wrong with a template.
func objectFormat(b base) (*objectWriter, error) {
	if b.Format == Objects {
		return &objectWriter{write: objectYAML, between: "---\n"}, nil
	}
	if b.Format == ObjectsKYAML { // It begins each document by itself.
		return &objectWriter{write: objectKYAML}, nil
	}
	if b.Format == ObjectsJSON {
		return &objectWriter{
			write: objectJSON, between: ",\n",
			begin: "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": [\n", end: "\n  ]\n}\n",
		}, nil
	}
	if text, ok := strings.CutPrefix(b.Format, JSONPath+"="); ok {
		write, err := b.objectPath(text)
		return &objectWriter{write: write}, err
	}
	if text, ok := strings.CutPrefix(b.Format, GoTemplate+"="); ok {
		write, err := b.objectTemplate(text)
		return &objectWriter{write: write}, err
	}
	return nil, nil
}

func objectYAML(u *unstructured.Unstructured) (string, error) {
	text, err := encodeYAML(u.Object)
	return string(text), err
}

func objectKYAML(u *unstructured.Unstructured) (string, error) {
	text, err := encodeKYAML(u.Object)
	return string(text), err
}

func objectJSON(u *unstructured.Unstructured) (string, error) {
	text, err := encode(u.Object, "  ")
	if err != nil {
		return "", err
	}
	const indent = "    "
	return indent + strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n"+indent), nil
}

// objectPath returns what writes what a template finds in an object, on a line of
// its own.
func (b base) objectPath(text string) (func(*unstructured.Unstructured) (string, error), error) {
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(braced(text)); err != nil {
		return nil, fmt.Errorf("jsonpath: %w", err)
	}
	return func(u *unstructured.Unstructured) (string, error) {
		var found bytes.Buffer
		if err := path.Execute(&found, u.Object); err != nil {
			return "", err
		}
		return b.forScreen(strings.TrimSuffix(found.String(), "\n") + "\n"), nil
	}, nil
}

// objectTemplate returns what writes an object by a template, which breaks its lines
// itself.
func (b base) objectTemplate(text string) (func(*unstructured.Unstructured) (string, error), error) {
	parsed, err := gotemplate.Parse("output", text)
	if err != nil {
		return nil, fmt.Errorf("go-template: %w", err)
	}
	// All texts are held until the run is over: what is beyond the size of objects is bounded
	// for all of them together.
	const perObject = 1 << 20
	spare := gotemplate.MaxText
	return func(u *unstructured.Unstructured) (string, error) {
		var made bytes.Buffer
		if err := parsed.Execute(&made, u.Object, b.Over); err != nil {
			return "", err
		}
		if spare += perObject - made.Len(); spare < 0 {
			return "", fmt.Errorf("the template makes more text than %d MiB and another for each object", gotemplate.MaxText>>20)
		}
		return b.forScreen(made.String()), nil
	}, nil
}

// forScreen escapes what a terminal would take for a command. A script gets the text
// as it is.
func (b base) forScreen(shown string) string {
	if b.Width == nil {
		return shown
	}
	return text.Printable(shown, '\n', '\t')
}

// appliedObjects writes the objects of an apply as the server has them. What was not
// applied goes to stderr as it would in a table, for stdout has no place for it.
type appliedObjects struct {
	base
	*objectWriter
	texts   planOrdered[string]
	table   *applyTable
	failure error
}

func newAppliedObjects(b base, w *objectWriter) *appliedObjects {
	return &appliedObjects{base: b, objectWriter: w, table: newApplyNames(b).table}
}

func (o *appliedObjects) take(e event.Event) {
	applied, ok := e.(event.Applied)
	if !ok || applied.Object == nil {
		o.table.take(e)
		return
	}
	text, err := o.write(applied.Object)
	if err != nil && o.failure == nil {
		o.failure = fmt.Errorf("%s: %w", label(applied.Ref), err)
	}
	if text != "" {
		o.texts.add(o.progress.place(applied.Ref), text)
	}
}

func (o *appliedObjects) flush() { o.table.flush() }

func (o *appliedObjects) finish(ctx context.Context) error {
	o.screen.result(o.begin + strings.Join(o.texts.drain(), o.between) + o.end)
	if err := o.table.finish(ctx); err != nil {
		return err
	}
	return o.failure
}
