package predict

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// MisfitError is the server's refusal of a manifest that does not fit the schema of its
// kind, in words for people: the server prints Go values.
type MisfitError struct {
	Err error
	// Text is what the server says, without Go values.
	Text string
	// Advice says what to write instead; empty where that is not known.
	Advice string
}

func (e *MisfitError) Error() string { return e.Text }

// Unwrap returns the server's error.
func (e *MisfitError) Unwrap() error { return e.Err }

// Hint returns the advice.
func (e *MisfitError) Hint() string { return e.Advice }

// misfit puts the refusal of a manifest that does not fit its schema into words, and
// returns nil for any other refusal. The code says which it is; the fields are only in the
// text.
func (p Predictor) misfit(in *Prediction, err error) *MisfitError {
	var status apierrors.APIStatus
	if !unexplained(err) || !errors.As(err, &status) {
		return nil
	}
	// PATH: field not declared in schema; PATH: expected string, got &value.valueUnstructured{Value:8080}.
	mistyped := regexp.MustCompile(`(\.[^\s]+): expected (string|numeric|boolean|list|map)[^,\n]*, got &value\.valueUnstructured\{Value:(.*)\}`)
	unknown := regexp.MustCompile(`(\.[^\s]+): field not declared in schema`)
	text := status.Status().Message
	var advice []string
	add := func(words string) {
		if words != "" && !slices.Contains(advice, words) {
			advice = append(advice, words)
		}
	}
	for _, match := range mistyped.FindAllStringSubmatch(text, -1) {
		add(p.quoteIt(in, match[1], match[2]))
	}
	for _, match := range unknown.FindAllStringSubmatch(text, -1) {
		add(p.nearField(in, match[1]))
	}
	plain := mistyped.ReplaceAllStringFunc(text, func(fault string) string {
		match := mistyped.FindStringSubmatch(fault)
		_, value := find(in.Item.Object.Object, match[1])
		return fmt.Sprintf("%s: expected %s, got %s", match[1], inWords(match[2]), valueInWords(value, match[3]))
	})
	if plain == text && len(advice) == 0 {
		return nil
	}
	return &MisfitError{Err: err, Text: plain, Advice: strings.Join(advice, "; ")}
}

func inWords(kind string) string {
	switch kind {
	case "string":
		return "text"
	case "numeric":
		return "a number"
	case "boolean":
		return "true or false"
	case "map":
		return "a mapping"
	default:
		return "a list"
	}
}

// valueInWords puts a value into words. Text is the value as the server prints it, perhaps
// masked. Maps and lists are not quoted.
func valueInWords(value any, text string) string {
	switch value.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case nil:
		return "null"
	case bool:
		return text
	case int64, float64:
		return "the number " + text
	default:
		return "the text " + text
	}
}

// quoteIt is the advice for a number or a boolean where text is expected.
func (p Predictor) quoteIt(in *Prediction, path, want string) string {
	steps, value := find(in.Item.Object.Object, path)
	_, truth := value.(bool)
	_, whole := value.(int64)
	_, broken := value.(float64)
	if want != "string" || !truth && !whole && !broken {
		return ""
	}
	at, written := in.Item.Source, ""
	if p.Locate != nil {
		at, written = p.Locate(at, steps)
	}
	if truth && written != "" && !strings.EqualFold(written, fmt.Sprint(value)) && !redact.IsSecret(in.Item.Ref) {
		return fmt.Sprintf("quote it (%s): unquoted, %s is %v in YAML 1.1", at, written, value)
	}
	return fmt.Sprintf("quote it (%s)", at)
}

// find returns the field at a path as the server writes it, and the keys and positions
// that lead there; nothing if the object has no such field.
func find(object map[string]any, text string) (steps []any, value any) {
	path, err := fieldpath.ParsePath(text)
	if err != nil {
		return nil, nil
	}
	var positions []any
	value, ok := path.GetBy(object, func(list []any, pe fieldpath.Element) int {
		i := fieldpath.Find(list, pe)
		positions = append(positions, i)
		return i
	})
	if !ok {
		return nil, nil
	}
	for _, pe := range path {
		if pe.FieldName != nil {
			steps = append(steps, *pe.FieldName)
		} else {
			steps, positions = append(steps, positions[0]), positions[1:]
		}
	}
	return steps, value
}

// nearField proposes the field that was probably meant by an unknown one.
func (p Predictor) nearField(in *Prediction, said string) string {
	path, err := fieldpath.ParsePath(said)
	if p.Schema == nil || err != nil || len(path) == 0 || path[len(path)-1].FieldName == nil {
		return ""
	}
	s := p.Schema(in.Item.Kind)
	for _, element := range path[:len(path)-1] {
		switch {
		case s == nil:
			return ""
		case element.FieldName == nil:
			s = s.Items()
		default:
			s = s.Property(*element.FieldName)
		}
	}
	if s == nil {
		return ""
	}
	name := *path[len(path)-1].FieldName
	near := text.Nearest(name, slices.Sorted(slices.Values(s.Properties())))
	if near == "" {
		return ""
	}
	return "did you mean " + strings.TrimSuffix(said, name) + near + "?"
}
