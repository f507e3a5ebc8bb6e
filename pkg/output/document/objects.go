package document

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type objectWriter struct {
	write               func(u *unstructured.Unstructured) (string, error)
	begin, between, end string
}

func objectFormat(b output.Base) (objectWriter, error) {
	if b.Format == output.Objects {
		return objectWriter{write: objectYAML, between: "---\n"}, nil
	}
	if b.Format == output.ObjectsKYAML { // KYAML output starts each document with ---.
		return objectWriter{write: objectKYAML}, nil
	}
	if b.Format == output.ObjectsJSON {
		return objectWriter{
			write: objectJSON, between: ",\n",
			begin: "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": [\n", end: "\n  ]\n}\n",
		}, nil
	}
	if text, ok := strings.CutPrefix(b.Format, output.JSONPath+"="); ok {
		write, err := objectPath(b, text)
		return objectWriter{write: write}, err
	}
	return objectWriter{}, nil
}

func objectYAML(u *unstructured.Unstructured) (string, error) {
	text, err := format.YAML(u.Object)
	return string(text), err
}

func objectKYAML(u *unstructured.Unstructured) (string, error) {
	text, err := format.KYAML(u.Object)
	return string(text), err
}

func objectJSON(u *unstructured.Unstructured) (string, error) {
	text, err := format.JSON(u.Object, "  ")
	if err != nil {
		return "", err
	}
	const indent = "    "
	return indent + strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n"+indent), nil
}

func objectPath(b output.Base, text string) (func(*unstructured.Unstructured) (string, error), error) {
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(braced(text)); err != nil {
		return nil, fmt.Errorf("jsonpath: %w", err)
	}
	spare := maxText
	return func(u *unstructured.Unstructured) (string, error) {
		made := limited{left: maxText}
		if err := path.Execute(&made, u.Object); err != nil {
			return "", err
		}
		if spare += maxTextEach - made.Len(); spare < 0 {
			return "", errTooMuch
		}
		return forScreen(b, strings.TrimSuffix(made.String(), "\n")+"\n"), nil
	}, nil
}

const (
	// maxText and maxTextEach limit the output of a template, which stays in memory until the end
	// of the run.
	maxText     = 64 << 20
	maxTextEach = 1 << 20
)

var errTooMuch = fmt.Errorf("the template produces more than %d MiB of text", maxText>>20)

type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooMuch
	}
	return l.Buffer.Write(p)
}

// forScreen escapes control characters if the output is a terminal. A script receives the text
// unchanged.
func forScreen(b output.Base, shown string) string {
	if b.Width == nil {
		return shown
	}
	return text.Printable(shown, '\n', '\t')
}

// braced expands kubectl's short forms: both x.y and .x.y become {.x.y}.
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

// ManifestPhase is a phase of the plan, with the manifests of its objects.
type ManifestPhase struct {
	Name    string
	Objects []*unstructured.Unstructured
}

// WriteManifests writes manifests as YAML in plan order, with a comment above each phase. Secrets
// are not masked.
func WriteManifests(w io.Writer, phases []ManifestPhase) error {
	for i, ph := range phases {
		heading := fmt.Sprintf("# phase %d of %d, %s: %s\n", i+1, len(phases), ph.Name, text.Count(len(ph.Objects), "object"))
		if _, err := io.WriteString(w, heading); err != nil {
			return err
		}
		for _, u := range ph.Objects {
			text, err := format.YAML(u.Object)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", u.GetKind(), u.GetName(), err)
			}
			if _, err := io.WriteString(w, "---\n"+string(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

type listing struct {
	output.Base
	pick func(event.Event) (listed, bool)
	objectWriter
	early   bool
	texts   output.PlanOrdered[string]
	rest    output.Results
	failure error
}

type listed struct {
	ref    object.Ref
	object *unstructured.Unstructured
}

// NewAppliedNames writes the names of applied objects, as kubectl -o name does.
func NewAppliedNames(b output.Base, rest output.Results) output.Results {
	return &listing{Base: b, early: true, rest: rest, pick: func(e event.Event) (listed, bool) {
		applied, ok := e.(event.Applied)
		good := []event.Action{event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged}
		return listed{ref: applied.Ref}, ok && slices.Contains(good, applied.Action)
	}}
}

// NewDeletedNames writes the names of deleted objects.
func NewDeletedNames(b output.Base, rest output.Results) output.Results {
	return &listing{Base: b, early: true, rest: rest, pick: func(e event.Event) (listed, bool) {
		deleted, ok := e.(event.Deleted)
		return listed{ref: deleted.Ref}, ok && deleted.Action == event.Gone
	}}
}

// NewMetNames writes the names of objects that met their conditions.
func NewMetNames(b output.Base, rest output.Results) output.Results {
	return &listing{Base: b, rest: rest, pick: func(e event.Event) (listed, bool) {
		waited, ok := e.(event.Waited)
		return listed{ref: waited.Ref}, ok && waited.Action == event.Met
	}}
}

// NewAppliedObjects writes applied objects as the server stores them. It returns an error if the
// template is invalid.
func NewAppliedObjects(b output.Base, rest output.Results) (output.Results, error) {
	w, err := objectFormat(b)
	return &listing{Base: b, objectWriter: w, rest: rest, pick: func(e event.Event) (listed, bool) {
		applied, _ := e.(event.Applied)
		return listed{applied.Ref, applied.Object}, applied.Object != nil
	}}, err
}

// NewMetObjects writes the objects that met their conditions, unless the condition was their
// deletion. It returns an error if the template is invalid.
func NewMetObjects(b output.Base, rest output.Results) (output.Results, error) {
	w, err := objectFormat(b)
	return &listing{Base: b, objectWriter: w, rest: rest, pick: func(e event.Event) (listed, bool) {
		waited, _ := e.(event.Waited)
		return listed{waited.Ref, waited.Object}, waited.Action == event.Met && waited.Object != nil
	}}, err
}

func (l *listing) Handle(e event.Event) {
	o, ok := l.pick(e)
	if !ok {
		l.rest.Handle(e)
		return
	}
	shown := text.Printable(o.ref.Resource()) + "\n"
	if o.object != nil {
		var err error
		if shown, err = l.write(o.object); err != nil && l.failure == nil {
			l.failure = fmt.Errorf("%s: %w", format.Name(o.ref), err)
		}
	}
	if shown != "" {
		l.texts.Add(l.State.Place(o.ref), shown)
	}
}

func (l *listing) Flush() {
	l.rest.Flush()
	if l.early {
		l.Screen.Result(strings.Join(l.texts.Drain(), ""))
	}
}

func (l *listing) Finish(ctx context.Context) error {
	l.Screen.Result(l.begin + strings.Join(l.texts.Drain(), l.between) + l.end)
	if err := l.rest.Finish(ctx); err != nil {
		return err
	}
	return l.failure
}
