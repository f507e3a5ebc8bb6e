package fieldpath

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// ParsePath parses a path. It accepts what users type, and what a shell makes of it: the first dot
// may be missing, quotes may be single, and bracketed text needs no quotes if it is unambiguous
// ([name=app], [app.kubernetes.io/name]). An error gives the column, counted from 1.
func ParsePath(s string) (Path, error) {
	p := parser{text: s}
	path, err := p.path()
	if err != nil {
		return nil, p.fault(err)
	}
	return path, nil
}

func (p *parser) fault(err error) error {
	column := utf8.RuneCountInString(p.given[:min(p.pos, len(p.given))]) + 1
	return fmt.Errorf("path %q, column %d: %w", p.given, column, err)
}

// ParseItem parses the element of a list item at the start of a text, and returns the rest of the
// text.
func ParseItem(text string) (pe Element, rest string, ok bool) {
	p := parser{text: text}
	if !p.accept('[') {
		return pe, text, false
	}
	pe, err := p.bracket()
	return pe, text[p.pos:], err == nil
}

type parser struct {
	given, text string
	pos         int
	wild        bool
}

type syntaxError string

func (e syntaxError) Error() string { return string(e) }

const (
	errEmpty    = syntaxError("the path is empty")
	errName     = syntaxError("expected a field name")
	errStart    = syntaxError(`expected "." or "["`)
	errQuote    = syntaxError("the quoted text has no closing quote")
	errClose    = syntaxError(`expected "]"`)
	errEquals   = syntaxError(`expected "="`)
	errValue    = syntaxError("expected a value")
	errTwice    = syntaxError("duplicate key")
	errWildcard = syntaxError("wildcards are not supported: name one item by its key")
)

func (p *parser) path() (Path, error) {
	p.given = p.text
	p.text = strings.TrimRight(p.text, " \t\r\n")
	p.space()
	if p.atEnd() || p.text[p.pos:] == "." {
		return nil, errEmpty
	}
	var path Path
	for !p.atEnd() {
		pe, err := p.element(len(path) == 0)
		if err != nil {
			return nil, err
		}
		path = append(path, pe)
	}
	return path, nil
}

// element parses one step. The dot before the first step may be missing, as in kubectl explain.
func (p *parser) element(first bool) (Element, error) {
	dotted := p.accept('.')
	switch {
	case p.accept('['):
		return p.bracket()
	case !dotted && !first:
		return Element{}, errStart
	}
	name, ok, err := p.quoted()
	if err != nil {
		return Element{}, err
	}
	if !ok {
		name = p.until(".[]\"'=, \t\r\n")
	}
	switch {
	case !ok && name == "":
		return Element{}, errName
	case !ok && name == "*" && p.wild:
		return Element{}, nil
	case !ok && name == "*":
		p.pos--
		return Element{}, errWildcard
	}
	return FieldElement(name), nil
}

func (p *parser) bracket() (Element, error) {
	p.space()
	if p.accept('=') {
		v, err := p.value("]")
		if err != nil {
			return Element{}, err
		}
		return smd.ValueElement(value.NewValueInterface(v)), p.close()
	}
	if strings.HasPrefix(p.text[p.pos:], "{}") {
		p.pos += 2
		return Element{Key: &value.FieldList{}}, p.close()
	}
	start := p.pos
	name, quoted, err := p.name("=,]")
	if err != nil {
		return Element{}, err
	}
	if p.peek('=') {
		return p.key(name)
	}
	if err := p.close(); err != nil {
		return Element{}, err
	}
	if !quoted {
		switch i, err := strconv.Atoi(name); {
		case err == nil:
			return smd.IndexElement(i), nil
		case name == "*" && p.wild:
			return Element{}, nil
		case name == "*":
			p.pos = start
			return Element{}, errWildcard
		}
	}
	return FieldElement(name), nil
}

func (p *parser) key(name string) (Element, error) {
	var fields value.FieldList
	for {
		if !p.accept('=') {
			return Element{}, errEquals
		}
		for _, f := range fields {
			if f.Name == name {
				return Element{}, errTwice
			}
		}
		v, err := p.value(",]")
		if err != nil {
			return Element{}, err
		}
		fields = append(fields, value.Field{Name: name, Value: value.NewValueInterface(v)})
		p.space()
		if !p.accept(',') {
			fields.Sort()
			return Element{Key: &fields}, p.close()
		}
		p.space()
		if name, _, err = p.name("=,]"); err != nil {
			return Element{}, err
		}
	}
}

func (p *parser) name(stop string) (name string, quoted bool, err error) {
	name, quoted, err = p.quoted()
	if err == nil && !quoted {
		if name = strings.TrimSpace(p.until(stop + "\"'")); name == "" {
			err = errName
		}
	}
	p.space()
	return name, quoted, err
}

// An unquoted value is read as a number, a boolean or null if possible. Otherwise it is a string
// whose quotes the shell removed.
func (p *parser) value(stop string) (any, error) {
	p.space()
	if s, ok, err := p.quoted(); ok || err != nil {
		return s, err
	}
	if p.peek('{') || p.peek('[') {
		d := json.NewDecoder(strings.NewReader(p.text[p.pos:]))
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, errValue
		}
		p.pos += int(d.InputOffset())
		return v, nil
	}
	word := strings.TrimSpace(p.until(stop + "\"'"))
	switch word {
	case "":
		return nil, errValue
	case "null":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	var number float64
	if json.Unmarshal([]byte(word), &number) != nil {
		return word, nil
	}
	if i, err := strconv.ParseInt(word, 10, 64); err == nil {
		return i, nil
	}
	return number, nil
}

// Double quotes allow the escapes of Go strings. Single quotes allow only \' and \\.
func (p *parser) quoted() (s string, ok bool, err error) {
	switch {
	case p.peek('"'):
		prefix, err := strconv.QuotedPrefix(p.text[p.pos:])
		if err != nil {
			return "", false, errQuote
		}
		if s, err = strconv.Unquote(prefix); err != nil {
			return "", false, errQuote
		}
		p.pos += len(prefix)
		return s, true, nil
	case p.peek('\''):
		var b strings.Builder
		for i := p.pos + 1; i < len(p.text); i++ {
			switch c := p.text[i]; {
			case c == '\'':
				p.pos = i + 1
				return b.String(), true, nil
			case c == '\\' && i+1 < len(p.text) && strings.IndexByte(`\'`, p.text[i+1]) >= 0:
				i++
				b.WriteByte(p.text[i])
			default:
				b.WriteByte(c)
			}
		}
		return "", false, errQuote
	}
	return "", false, nil
}

func (p *parser) close() error {
	p.space()
	if !p.accept(']') {
		return errClose
	}
	return nil
}

func (p *parser) atEnd() bool { return p.pos >= len(p.text) }

func (p *parser) peek(c byte) bool { return !p.atEnd() && p.text[p.pos] == c }

func (p *parser) accept(c byte) bool {
	if p.peek(c) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) space() {
	for p.peek(' ') || p.peek('\t') {
		p.pos++
	}
}

func (p *parser) until(stop string) string {
	start := p.pos
	if n := strings.IndexAny(p.text[start:], stop); n >= 0 {
		p.pos += n
	} else {
		p.pos = len(p.text)
	}
	return p.text[start:p.pos]
}

// NotFoundError means that a path does not exist in an object and that no manager owns it.
type NotFoundError struct {
	Path    Path
	Nearest Path
}

// NewNotFoundError returns an error that suggests the nearest candidate.
func NewNotFoundError(p Path, candidates []Path) *NotFoundError {
	nearest, _ := p.Nearest(candidates)
	return &NotFoundError{Path: p, Nearest: nearest}
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no %s", e.Path) }

func (e *NotFoundError) Hint() string {
	if len(e.Nearest) == 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", e.Nearest)
}

// Nearest returns the candidate that the user most likely meant by p, and false if there is none.
// The candidate may have different keys or more elements than p, or it may correct a typo. Nearest
// ignores p itself and its parents.
func (p Path) Nearest(candidates []Path) (Path, bool) {
	const step, far = 100, 1 << 20 // A skipped element costs more than any difference in text.
	best, least := Path(nil), far
	written := p.String()
	for _, c := range candidates {
		if p.HasPrefix(c) {
			continue
		}
		d := text.Edits(written, c.String())
		cost := far
		if skipped := p.skips(c); skipped >= 0 {
			cost = step*skipped + min(d, step-1)
		} else if d <= max(2, len(written)/8) {
			cost = step * d
		}
		if cost < least {
			best, least = c, cost
		}
	}
	return best, least < far
}

// skips returns the number of elements of c that p omits. It returns -1 if p and c differ in any
// other way, or if c is below p. It ignores the keys of list items and the case of names.
func (p Path) skips(c Path) int {
	at := 0
	for _, pe := range p {
		for at < len(c) && !alike(pe, c[at]) {
			at++
		}
		if at == len(c) {
			return -1
		}
		at++
	}
	if at < len(c) { // The user did not mean a path below p.
		return -1
	}
	return len(c) - len(p)
}

func alike(a, b Element) bool {
	if a.FieldName == nil || b.FieldName == nil {
		return a.FieldName == nil && b.FieldName == nil
	}
	return strings.EqualFold(*a.FieldName, *b.FieldName)
}
