package gotemplate

import (
	"encoding/base64"
	"errors"
	"fmt"
	"text/template"
)

// function is one that templates can call, with its number of arguments.
type function struct {
	least, most int // No most: any number.
	// until is the truth value of an argument at which and and or stop evaluating.
	until *bool
	call  func(arguments []any) (any, error)
}

func functions(b *budget) map[string]function {
	return map[string]function{
		"and":          {least: 1, until: new(false), call: last},
		"or":           {least: 1, until: new(true), call: last},
		"not":          {least: 1, most: 1, call: func(a []any) (any, error) { return !truth(a[0]), nil }},
		"len":          {least: 1, most: 1, call: func(a []any) (any, error) { return length(a[0]) }},
		"index":        {least: 1, call: func(a []any) (any, error) { return index(a[0], a[1:]) }},
		"slice":        {least: 1, call: func(a []any) (any, error) { return cut(a[0], a[1:]) }},
		"eq":           {least: 1, call: func(a []any) (any, error) { return equalAny(a[0], a[1:]) }},
		"ne":           {least: 2, most: 2, call: func(a []any) (any, error) { return not(equalAny(a[0], a[1:])) }},
		"lt":           {least: 2, most: 2, call: func(a []any) (any, error) { return less(a[0], a[1]) }},
		"le":           {least: 2, most: 2, call: func(a []any) (any, error) { return atMost(a[0], a[1]) }},
		"gt":           {least: 2, most: 2, call: func(a []any) (any, error) { return not(atMost(a[0], a[1])) }},
		"ge":           {least: 2, most: 2, call: func(a []any) (any, error) { return not(less(a[0], a[1])) }},
		"print":        {call: func(a []any) (any, error) { return b.text(plainSize(a), plain(fmt.Sprint, a)) }},
		"println":      {call: func(a []any) (any, error) { return b.text(plainSize(a), plain(fmt.Sprintln, a)) }},
		"printf":       {least: 1, call: func(a []any) (any, error) { return formatted(b, a) }},
		"html":         {call: func(a []any) (any, error) { return b.text(escapedSize(a), plain(template.HTMLEscaper, a)) }},
		"js":           {call: func(a []any) (any, error) { return b.text(escapedSize(a), plain(template.JSEscaper, a)) }},
		"urlquery":     {call: func(a []any) (any, error) { return b.text(escapedSize(a), plain(template.URLQueryEscaper, a)) }},
		"base64decode": {least: 1, most: 1, call: func(a []any) (any, error) { return decoded(b, a) }},
		"exists":       {least: 1, call: func(a []any) (any, error) { _, err := index(a[0], a[1:]); return err == nil, nil }},
	}
}

func last(arguments []any) (any, error) { return arguments[len(arguments)-1], nil }

func not(truth bool, err error) (any, error) { return !truth, err }

func plain(by func(...any) string, arguments []any) func() (string, error) {
	return func() (string, error) { return by(arguments...), nil }
}

func formatted(b *budget, arguments []any) (any, error) {
	format, ok := arguments[0].(string)
	if !ok {
		return nil, fmt.Errorf("printf: %v is not a format", arguments[0])
	}
	return b.text(formattedSize(format, arguments[1:]), func() (string, error) {
		return fmt.Sprintf(format, arguments[1:]...), nil
	})
}

func decoded(b *budget, arguments []any) (any, error) {
	text, ok := arguments[0].(string)
	if !ok {
		return nil, fmt.Errorf("base64decode: %v is not a string", arguments[0])
	}
	return b.text(len(text), func() (string, error) {
		secret, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", fmt.Errorf("base64decode: %w", err)
		}
		return string(secret), nil
	})
}

// truth reports whether a value is neither zero, nor empty, nor missing.
func truth(value any) bool {
	switch v := value.(type) {
	case nil, absent:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	case int:
		return v != 0
	case int64:
		return v != 0
	case uint8:
		return v != 0
	case float64:
		return v != 0
	case complex128:
		return v != 0
	default:
		return true
	}
}

func length(value any) (any, error) {
	switch v := value.(type) {
	case string:
		return len(v), nil
	case []any:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	default:
		return nil, fmt.Errorf("%v has no length", value)
	}
}

// index follows keys and numbers.
func index(value any, by []any) (any, error) {
	if value == nil {
		return nil, errors.New("index of nothing")
	}
	for _, key := range by {
		switch v := value.(type) {
		case map[string]any:
			name, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("index: %v is not a key", key)
			}
			value = v[name]
		case []any:
			i, err := position(key, len(v)-1)
			if err != nil {
				return nil, err
			}
			value = v[i]
		case string:
			i, err := position(key, len(v)-1)
			if err != nil {
				return nil, err
			}
			value = v[i]
		default:
			return nil, fmt.Errorf("index of %v", value)
		}
	}
	return value, nil
}

// position reads a whole number between 0 and the highest.
func position(value any, highest int) (int, error) {
	var at int64
	switch v := value.(type) {
	case int:
		at = int64(v)
	case int64:
		at = v
	case uint8:
		at = int64(v)
	default:
		return 0, fmt.Errorf("%v is not an index", value)
	}
	if at < 0 || at > int64(highest) {
		return 0, fmt.Errorf("index %d is out of range", at)
	}
	return int(at), nil
}

// cut is the part of a string or a list between two indices; with three, of a list
// with a capacity.
func cut(value any, by []any) (any, error) {
	text, isText := value.(string)
	list, isList := value.([]any)
	size, highest, most := len(list), cap(list), 3
	if isText {
		size, highest, most = len(text), len(text), 2
	}
	if !isText && !isList {
		return nil, fmt.Errorf("slice of %v", value)
	}
	if len(by) > most {
		return nil, fmt.Errorf("slice takes %d indices, not %d", most, len(by))
	}
	bounds := [3]int{0, size, highest}
	for i, number := range by {
		var err error
		if bounds[i], err = position(number, highest); err != nil {
			return nil, err
		}
	}
	if bounds[0] > bounds[1] || len(by) > 2 && bounds[1] > bounds[2] {
		return nil, fmt.Errorf("slice: indices %v are out of order", by)
	}
	if isText {
		return text[bounds[0]:bounds[1]], nil
	}
	return list[bounds[0]:bounds[1]:bounds[2]], nil
}
