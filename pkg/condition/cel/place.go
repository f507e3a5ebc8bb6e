package cel

import (
	"slices"
	"strconv"
	"strings"

	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Self is the variable that holds the object.
const Self = "self"

// Place is where below a variable an expression looks, where it says so outright:
// self.status.conditions[0]. A step is a string (a field), a key or an int64.
type Place struct {
	Variable string
	Steps    []any
}

// Key is a step that is written in brackets.
type Key string

// Below returns the place one step below.
func (p Place) Below(step any) Place {
	return Place{Variable: p.Variable, Steps: append(slices.Clip(p.Steps), step)}
}

// Names returns the names that lead as far as names lead.
func (p Place) Names() []string {
	var out []string
	for _, step := range p.Steps {
		if k, ok := step.(Key); ok {
			out = append(out, string(k))
			continue
		}
		name, ok := step.(string)
		if !ok {
			break
		}
		out = append(out, name)
		// In an object the name may be written escaped, and which it is, the
		// object tells: from here on everything is read.
		if unescaped, ok := apiservercel.Unescape(name); ok && unescaped != name {
			return out[:len(out)-1]
		}
	}
	return out
}

// Find returns what is at the place; null counts as nothing.
func (p Place) Find(value any) (any, bool) {
	for _, step := range p.Steps {
		switch step := step.(type) {
		case Key:
			m, _ := value.(map[string]any)
			value = m[string(step)]
		case string:
			m, ok := value.(map[string]any)
			if !ok {
				return nil, false
			}
			if value, ok = m[step]; !ok {
				unescaped, _ := apiservercel.Unescape(step)
				value = m[unescaped]
			}
		case int64:
			l, ok := value.([]any)
			if !ok || step < 0 || step >= int64(len(l)) {
				return nil, false
			}
			value = l[step]
		}
	}
	return value, value != nil
}

// Missing returns how far one gets on the way to the place: to the first thing that
// is not there.
func (p Place) Missing(value any) Place {
	for i := range p.Steps {
		outer := Place{Variable: p.Variable, Steps: p.Steps[:i+1]}
		if _, there := outer.Find(value); !there {
			return outer
		}
	}
	return p
}

// String returns the place as an expression.
func (p Place) String() string {
	var b strings.Builder
	b.WriteString(p.Variable)
	for _, step := range p.Steps {
		switch step := step.(type) {
		case Key:
			b.WriteString("[" + strconv.Quote(string(step)) + "]")
		case string:
			b.WriteString("." + step)
		case int64:
			b.WriteString("[" + strconv.FormatInt(step, 10) + "]")
		}
	}
	return b.String()
}
