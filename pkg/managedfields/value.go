package managedfields

import "encoding/json"

// equal compares two JSON values as the API server does when it looks for
// conflicts: numbers by value whatever their Go type, lists in order, and null,
// absent and empty as three different things. Texts are compared as texts: a
// quantity in another spelling is another value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil:
		return b == nil
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return equalNumbers(a, b)
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, va := range a {
		if vb, ok := b[k]; !ok || !equal(va, vb) {
			return false
		}
	}
	return true
}

func equalNumbers(a, b any) bool {
	ai, aInt := asInt(a)
	bi, bInt := asInt(b)
	if aInt && bInt {
		return ai == bi
	}
	af, aOK := asFloat(a)
	bf, bOK := asFloat(b)
	return aOK && bOK && af == bf
}

func asInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case json.Number:
		i, err := v.Int64()
		return i, err == nil
	}
	return 0, false
}

func asFloat(v any) (float64, bool) {
	if i, ok := asInt(v); ok {
		return float64(i), true
	}
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// isEmpty tells whether v is a map or list with nothing in it.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// isFilled reports whether v is a map or a list with something in it.
func isFilled(v any) bool { return isContainer(v) && !isEmpty(v) }

// isContainer tells whether v is a map or a list.
func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// clone copies maps and lists, so that the copy can be changed. Unlike
// runtime.DeepCopyJSONValue it takes whatever it meets.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// side is a value, or its absence.
type side struct {
	value any
	has   bool
}

// at returns what a map has under a name.
func at(v any, name string) side {
	m, _ := v.(map[string]any)
	below, has := m[name]
	return side{below, has}
}
