package listing

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/gotemplate"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/encode"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// objectWriter writes objects in one of those formats.
type objectWriter struct {
	write func(u *unstructured.Unstructured) (string, error)
	// begin, between and end stand around the texts of the objects.
	begin, between, end string
}

// objectFormat returns the writer of a format of objects. The error says what is wrong
// with a template.
func objectFormat(b output.Base) (objectWriter, error) {
	if b.Format == output.Objects {
		return objectWriter{write: objectYAML, between: "---\n"}, nil
	}
	if b.Format == output.ObjectsKYAML { // It begins each document by itself.
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
	if text, ok := strings.CutPrefix(b.Format, output.GoTemplate+"="); ok {
		write, err := objectTemplate(b, text)
		return objectWriter{write: write}, err
	}
	return objectWriter{}, nil
}

func objectYAML(u *unstructured.Unstructured) (string, error) {
	text, err := encode.YAML(u.Object)
	return string(text), err
}

func objectKYAML(u *unstructured.Unstructured) (string, error) {
	text, err := encode.KYAML(u.Object)
	return string(text), err
}

func objectJSON(u *unstructured.Unstructured) (string, error) {
	text, err := encode.JSON(u.Object, "  ")
	if err != nil {
		return "", err
	}
	const indent = "    "
	return indent + strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n"+indent), nil
}

// objectPath returns what writes what a template finds in an object, on a line of
// its own.
func objectPath(b output.Base, text string) (func(*unstructured.Unstructured) (string, error), error) {
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(braced(text)); err != nil {
		return nil, fmt.Errorf("jsonpath: %w", err)
	}
	write := bounded(func(out io.Writer, u *unstructured.Unstructured) error {
		return path.Execute(gotemplate.Bounded(out), u.Object)
	})
	return func(u *unstructured.Unstructured) (string, error) {
		found, err := write(u)
		if err != nil {
			return "", err
		}
		return forScreen(b, strings.TrimSuffix(found, "\n")+"\n"), nil
	}, nil
}

// objectTemplate returns what writes an object by a template, which breaks its lines
// itself.
func objectTemplate(b output.Base, text string) (func(*unstructured.Unstructured) (string, error), error) {
	parsed, err := gotemplate.Parse("output", text)
	if err != nil {
		return nil, fmt.Errorf("go-template: %w", err)
	}
	write := bounded(func(out io.Writer, u *unstructured.Unstructured) error {
		return parsed.Execute(out, u.Object, b.Over)
	})
	return func(u *unstructured.Unstructured) (string, error) {
		made, err := write(u)
		return forScreen(b, made), err
	}, nil
}

// bounded limits the text for all objects together beyond their own size, because all of
// it is held until the run is over.
func bounded(execute func(io.Writer, *unstructured.Unstructured) error) func(*unstructured.Unstructured) (string, error) {
	const perObject = 1 << 20
	spare := gotemplate.MaxText
	return func(u *unstructured.Unstructured) (string, error) {
		var made bytes.Buffer
		if err := execute(&made, u); err != nil {
			return "", err
		}
		if spare += perObject - made.Len(); spare < 0 {
			return "", fmt.Errorf("the template produces more text than %d MiB and another for each object", gotemplate.MaxText>>20)
		}
		return made.String(), nil
	}
}

// forScreen escapes what a terminal would take for a command. A script gets the text
// as it is.
func forScreen(b output.Base, shown string) string {
	if b.Width == nil {
		return shown
	}
	return text.Printable(shown, '\n', '\t')
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
