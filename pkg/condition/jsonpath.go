package condition

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/jsonpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// parseJSONPath reads what follows "jsonpath=": a template in braces, which may
// hold "=" itself, or a path without them.
func parseJSONPath(text, trimmed, rest string) (Spec, error) {
	s := Spec{Kind: JSONPath, Text: trimmed}
	hint := "such as --for=jsonpath='{.status.phase}'=Running"
	rest = unquoted(rest)
	end := endOfPath(rest)
	if end <= 0 || unquoted(rest[:end]) == "" {
		return Spec{}, &specError{text, "the path is missing, or its brackets do not match", hint}
	}
	s.Expression = template(unquoted(rest[:end]))
	switch value := rest[end:]; {
	case value == "":
	case value[0] == '=' && len(value) > 1:
		s.Value, s.HasValue = unquoted(value[1:]), true
	default:
		return Spec{}, &specError{text, "after the path comes =VALUE", hint}
	}
	if err := jsonpath.New("").Parse(s.Expression); err != nil {
		return Spec{}, &specError{text, err.Error(), hint}
	}
	return s, nil
}

// endOfPath returns where the path ends and its value begins; less than 0 where a
// bracket or a quote is not closed.
func endOfPath(text string) int {
	var open []rune
	var quote rune
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune("{[(", r):
			open = append(open, r)
		case strings.ContainsRune("}])", r):
			if len(open) == 0 {
				return -1
			}
			if open = open[:len(open)-1]; len(open) == 0 && r == '}' {
				return i + 1
			}
		case r == '=' && len(open) == 0:
			return i
		}
	}
	if quote != 0 || len(open) > 0 {
		return -1
	}
	return len(text)
}

// unquoted takes off quotes that no shell has taken off.
func unquoted(text string) string {
	if len(text) > 1 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

// template completes a path as kubectl does: x.y, .x.y, {x.y} and {.x.y} are one.
func template(path string) string {
	inner := strings.TrimSpace(path)
	if strings.HasPrefix(inner, "{") && strings.HasSuffix(inner, "}") {
		inner = strings.TrimSpace(inner[1 : len(inner)-1])
	}
	if !strings.HasPrefix(inner, ".") && !strings.HasPrefix(inner, "[") && !strings.HasPrefix(inner, "$") && !strings.HasPrefix(inner, "@") {
		inner = "." + inner
	}
	return "{" + inner + "}"
}

// path judges jsonpath={…}[=VALUE].
type path struct {
	spec Spec
	gvk  schema.GroupVersionKind
}

func newPath(gvk schema.GroupVersionKind, one Spec) (judge, error) {
	if err := jsonpath.New("").Parse(one.Expression); err != nil {
		return nil, &CompileError{Spec: one, Message: err.Error()}
	}
	return &path{one, gvk}, nil
}

// reads is what is below the names that the path begins with; everything where it
// goes on from the root again.
func (p *path) reads() reads {
	inner := strings.Trim(p.spec.Expression, "{}")
	if strings.ContainsAny(inner, "${}") || strings.Contains(inner, "..") {
		return reads{all: true}
	}
	if end := strings.IndexFunc(inner, func(r rune) bool { return !isNamePart(r) && r != '.' }); end >= 0 {
		if inner[end] != '[' { // It is in the middle of a name.
			end = max(0, strings.LastIndexByte(inner[:end], '.'))
		}
		inner = inner[:end]
	}
	names := strings.Split(strings.Trim(inner, "."), ".")
	if names[0] == "" {
		return reads{all: true}
	}
	return reads{paths: [][]string{names}}
}

func isNamePart(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

var errManyValues = errors.New("the path leads to more than one value")

func (p *path) judge(_ context.Context, obj map[string]any, _ time.Time) Verdict {
	found, err := find(p.spec.Expression, obj)
	if err != nil {
		return Verdict{Reason: "NotJudged", Message: err.Error(), Err: err}
	}
	value := Value{Expr: p.spec.Expression}
	if len(found) == 0 {
		value.Absent = true
		return Verdict{Reason: "Absent", Message: "there is nothing at " + p.spec.Expression, Values: []Value{value}}
	}
	if !p.spec.HasValue {
		value.Value = p.shown(obj, found[0])
		return Verdict{Met: true, Reason: "Found", Message: "there is a value", Values: []Value{value}}
	}
	if len(found) > 1 {
		return Verdict{Reason: "NotJudged", Message: errManyValues.Error(), Err: errManyValues}
	}
	switch found[0].(type) {
	case map[string]any, []any:
		err := errors.New("the path leads to an object or a list, which is no value to compare")
		return Verdict{Reason: "NotJudged", Message: err.Error(), Err: err}
	}
	value.Value = p.shown(obj, found[0])
	out := Verdict{Met: fmt.Sprint(found[0]) == p.spec.Value, Reason: "Equal", Values: []Value{value}}
	if !out.Met {
		out.Reason, out.Message = "NotEqual", fmt.Sprintf("it is %v, not %s", value.Value, p.spec.Value)
	}
	return out
}

// shown returns what of a value may be seen.
func (p *path) shown(obj map[string]any, v any) any {
	u := &unstructured.Unstructured{Object: obj}
	if p.gvk.Group != "" || p.gvk.Kind != "Secret" {
		return v
	}
	masked, err := find(p.spec.Expression, redact.Object(u).Object)
	if err != nil || len(masked) == 0 {
		return redact.Mask
	}
	return masked[0]
}

// find returns the values that a JSONPath finds. A template keeps state while it
// runs, so each run has its own.
func find(expression string, obj map[string]any) ([]any, error) {
	j := jsonpath.New("").AllowMissingKeys(true)
	if err := j.Parse(expression); err != nil {
		return nil, err
	}
	results, err := j.FindResults(obj)
	if err != nil {
		return nil, err
	}
	var found []any
	for _, list := range results {
		for _, v := range list {
			if v.IsValid() && v.CanInterface() && v.Interface() != nil {
				found = append(found, v.Interface())
			}
		}
	}
	return found, nil
}
