package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// anyItem is noted where a list item was named by its position: those move.
const anyItem = "a position names another item once the list changes: the rule means every item"

// pointer turns a JSON pointer into a path.
func pointer(text string) (path, note string, err error) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", errors.New("not a JSON pointer")
	}
	var b strings.Builder
	for part := range strings.SplitSeq(rest, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if isPosition(part) {
			b.WriteString("[*]")
			note = anyItem
			continue
		}
		b.WriteString("[" + strconv.Quote(part) + "]")
	}
	return checked(b.String(), note)
}

func isPosition(part string) bool {
	_, err := strconv.ParseUint(part, 10, 16)
	return err == nil || part == "-"
}

// The steps of the jq expressions that are paths: a field, any item, an item by position or by
// the value of one of its fields.
var (
	jqField    = regexp.MustCompile(`^\.([A-Za-z_][A-Za-z0-9_]*)`)
	jqQuoted   = regexp.MustCompile(`^\.?\[("(?:[^"\\]|\\.)*")\]|^\.("(?:[^"\\]|\\.)*")`)
	jqAny      = regexp.MustCompile(`^\.?\[\]\??`)
	jqPosition = regexp.MustCompile(`^\.?\[-?[0-9]+\]`)
	jqSelect   = regexp.MustCompile(`^\s*\|\s*select\(\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*==\s*("(?:[^"\\]|\\.)*")\s*\)`)
	jqPipe     = regexp.MustCompile(`^\s*\|\s*(?:\.|$)`)
)

// errNotPlain: jq computes it.
var errNotPlain = errors.New("not a plain path: write the rule by hand, or name the manager that sets it")

// jq turns a jq expression into a path, if it is a plain one.
func jq(text string) (path, note string, err error) {
	rest := strings.TrimSpace(text)
	// In brackets, an expression is the same.
	for strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")") && !strings.ContainsAny(rest[1:len(rest)-1], "()") {
		rest = strings.TrimSpace(rest[1 : len(rest)-1])
	}
	var b strings.Builder
	for rest != "" {
		if m := jqField.FindStringSubmatch(rest); m != nil {
			b.WriteString("[" + strconv.Quote(m[1]) + "]")
			rest = strings.TrimPrefix(rest[len(m[0]):], "?")
			continue
		}
		if m := jqQuoted.FindStringSubmatch(rest); m != nil {
			name, err := strconv.Unquote(m[1] + m[2])
			if err != nil {
				return "", "", errNotPlain
			}
			b.WriteString("[" + strconv.Quote(name) + "]")
			rest = strings.TrimPrefix(rest[len(m[0]):], "?")
			continue
		}
		if m := jqAny.FindString(rest); m != "" {
			rest = rest[len(m):]
			if s := jqSelect.FindStringSubmatch(rest); s != nil {
				value, err := strconv.Unquote(s[2])
				if err != nil {
					return "", "", errNotPlain
				}
				fmt.Fprintf(&b, "[%s=%s]", s[1], strconv.Quote(value))
				rest = rest[len(s[0]):]
				continue
			}
			b.WriteString("[*]")
			continue
		}
		if m := jqPosition.FindString(rest); m != "" {
			b.WriteString("[*]")
			note = anyItem
			rest = strings.TrimPrefix(rest[len(m):], "?")
			continue
		}
		if m := jqPipe.FindString(rest); m != "" && b.Len() > 0 && strings.HasSuffix(m, ".") {
			rest = rest[len(m)-1:]
			continue
		}
		return "", "", errNotPlain
	}
	return checked(b.String(), note)
}

// checked is a path as it is written, if it is one.
func checked(text, note string) (string, string, error) {
	p, err := fieldpath.ParsePattern(text)
	if err != nil {
		return "", "", err
	}
	if len(p) == 0 {
		return "", "", errors.New("it names the whole object")
	}
	return p.String(), note, nil
}
