package predict

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// MisfitError is the server's refusal of a manifest that does not match the schema of its kind,
// reworded because the server's message contains Go values.
type MisfitError struct {
	Err    error
	Text   string
	Advice string
	// At is the location of the first faulty field, or of the object if the field cannot be
	// located.
	At object.Source
}

func (e *MisfitError) Error() string { return e.Text }

// Written returns the location of the fault.
func (e *MisfitError) Written() object.Source { return e.At }

func (e *MisfitError) Unwrap() error { return e.Err }

func (e *MisfitError) Hint() string { return e.Advice }

// misfit rewords the refusal of a manifest that does not match its schema, and returns nil for
// other refusals. The status code shows that the manifest does not match, but only the text of the
// refusal names the fields.
func (p Predictor) misfit(in *Prediction, err error) *MisfitError {
	var status apierrors.APIStatus
	if apierrors.IsInvalid(err) {
		return p.nulls(in, err)
	}
	if !unexplained(err) || !errors.As(err, &status) {
		return nil
	}
	// PATH: field not declared in schema; PATH: expected string, got &value.valueUnstructured{Value:8080}.
	mistyped := regexp.MustCompile(`(\.[^\s]+): expected (string|numeric|boolean|list|map)[^,\n]*, got &value\.valueUnstructured\{Value:(.*)\}`)
	twice := regexp.MustCompile(`(\.[^\s]+): duplicate entries for key (\[.*\])`)
	unknown := regexp.MustCompile(`(\.[^\s]+): field not declared in schema`)
	text := status.Status().Message
	var advice []string
	first := ""
	add := func(path, words string) {
		first = cmp.Or(first, path)
		if words != "" && !slices.Contains(advice, words) {
			advice = append(advice, words)
		}
	}
	for _, match := range matches(mistyped, text) {
		add(match[1], p.quoteIt(in, match[1], match[2]))
	}
	for _, match := range matches(twice, text) {
		add(match[1], p.bothLines(in, match[1], match[2]))
	}
	for _, match := range matches(unknown, text) {
		add(match[1], p.nearField(in, match[1]))
	}
	plain := mistyped.ReplaceAllStringFunc(text, func(fault string) string {
		match := mistyped.FindStringSubmatch(fault)
		_, value, _ := find(in.Item.Object.Object, match[1])
		return fmt.Sprintf("%s: expected %s, got %s", match[1], inWords(match[2]), valueInWords(value, match[3]))
	})
	if plain == text && len(advice) == 0 {
		return nil
	}
	return &MisfitError{Err: err, Text: plain, Advice: joined(advice), At: p.written(in, first)}
}

// joined joins the hints into one text, and merges hints that differ only in a location or a name.
func joined(advice []string) string {
	const intended = "did you mean "
	var out []string
	for _, next := range advice {
		last := ""
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		words, place, placed := strings.Cut(next, " (")
		switch {
		case placed && strings.HasPrefix(last, words+" (") && strings.HasSuffix(last, ")") && strings.HasSuffix(place, ")"):
			out[len(out)-1] = strings.TrimSuffix(last, ")") + ", " + place
		case strings.HasPrefix(last, intended) && strings.HasPrefix(next, intended):
			out[len(out)-1] = strings.TrimSuffix(last, "?") + " and " + strings.TrimPrefix(next, intended)
		default:
			out = append(out, next)
		}
	}
	return strings.Join(out, "; ")
}

func (p Predictor) written(in *Prediction, path string) object.Source {
	steps, _, _ := find(in.Item.Object.Object, path)
	if p.Locate == nil || len(steps) == 0 {
		return in.Item.Source
	}
	at, _ := p.Locate(in.Item.Source, steps)
	return at
}

// matches returns the matches sorted by their first group, because the server reports faults in
// random order.
func matches(pattern *regexp.Regexp, text string) [][]string {
	all := pattern.FindAllStringSubmatch(text, -1)
	slices.SortFunc(all, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
	return all
}

// nulls explains a refusal of null fields in a custom resource. A key without a value is null in
// YAML. Only nullable fields and fields with defaults may be null.
func (p Predictor) nulls(in *Prediction, err error) *MisfitError {
	var advice []string
	var first object.Source
	for _, cause := range Causes(err) {
		steps, value, found := find(in.Item.Object.Object, "."+cause.Field)
		if !found || value != nil {
			continue
		}
		at := in.Item.Source
		if p.Locate != nil {
			at, _ = p.Locate(at, steps)
		}
		if len(advice) == 0 {
			first = at
		}
		advice = append(advice, fmt.Sprintf("%v: has no value (%s)", steps[len(steps)-1], at))
	}
	if len(advice) == 0 {
		return nil
	}
	return &MisfitError{Err: err, Text: err.Error(), Advice: strings.Join(advice, ", ") + "; remove the key, or write {} (for a list: [])", At: first}
}

func (p Predictor) bothLines(in *Prediction, path, key string) string {
	steps, value, _ := find(in.Item.Object.Object, path)
	items, _ := value.([]any)
	element, err := fieldpath.ParsePath(key)
	if err != nil || len(element) != 1 || p.Locate == nil {
		return ""
	}
	var at []string
	for i := range items {
		if fieldpath.Find(items[i:i+1], element[0]) == 0 {
			source, _ := p.Locate(in.Item.Source, append(slices.Clip(steps), i))
			at = append(at, source.String())
		}
	}
	if len(at) < 2 {
		return ""
	}
	return fmt.Sprintf("%s%s is at %s: remove one", path, key, strings.Join(at, " and "))
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

// valueInWords describes a value with its type. text is the value as the server prints it, perhaps
// masked.
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

func (p Predictor) quoteIt(in *Prediction, path, want string) string {
	if want != "string" {
		return ""
	}
	steps, value, _ := find(in.Item.Object.Object, path)
	at, written := in.Item.Source, ""
	if p.Locate != nil {
		at, written = p.Locate(at, steps)
	}
	switch value := value.(type) {
	case map[string]any, []any:
		return fmt.Sprintf("write it as a block of text (%s): %v: |", at, steps[len(steps)-1])
	case bool:
		if written != "" && !strings.EqualFold(written, fmt.Sprint(value)) && !redact.IsSecret(in.Item.Ref) {
			return fmt.Sprintf("quote it (%s): unquoted, %s is %v in YAML 1.1", at, written, value)
		}
	case int64, float64:
	default:
		return ""
	}
	return fmt.Sprintf("quote it (%s)", at)
}

// find returns the value at a path in the server's notation, and the keys and list positions that
// lead to it. The server does not quote keys that contain dots, so only the object shows where a
// key ends.
func find(value any, path string) (steps []any, found any, ok bool) {
	if path == "" {
		return nil, value, true
	}
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			rest, is := strings.CutPrefix(path, "."+key)
			if !is || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			if steps, found, ok := find(below, rest); ok {
				return append([]any{key}, steps...), found, true
			}
		}
	case []any:
		for end := range path {
			if path[end] != ']' {
				continue
			}
			element, err := fieldpath.ParsePath(path[:end+1])
			if err != nil || len(element) != 1 {
				continue
			}
			if i := fieldpath.Find(value, element[0]); i >= 0 {
				steps, found, ok := find(value[i], path[end+1:])
				return append([]any{i}, steps...), found, ok
			}
		}
	}
	return nil, nil, false
}

// nearField suggests a field in place of one that the server does not know, among the fields of its parent.
func (p Predictor) nearField(in *Prediction, message string) string {
	path, err := fieldpath.ParsePath(message)
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
	return "did you mean " + strings.TrimSuffix(message, name) + near + "?"
}
