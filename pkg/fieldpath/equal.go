package fieldpath

import "encoding/json"

// Equal compares two JSON values as the API server does when it detects conflicts. It compares
// numbers by value, regardless of their Go type, and lists in order. Null, absent and empty are
// different values, and so are two spellings of one quantity.
func Equal(a, b any) bool {
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
			if !Equal(a[i], b[i]) {
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
		if vb, ok := b[k]; !ok || !Equal(va, vb) {
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
	af, aOK := AsFloat(a)
	bf, bOK := AsFloat(b)
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

// AsFloat converts a number of any type that a JSON decoder returns.
func AsFloat(v any) (float64, bool) {
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

// IsEmpty reports whether v is an empty map or list.
func IsEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// IsFilled reports whether v is a non-empty map or list.
func IsFilled(v any) bool { return IsContainer(v) && !IsEmpty(v) }

// IsContainer reports whether v is a map or a list.
func IsContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Clone returns a deep copy of maps and lists. Unlike runtime.DeepCopyJSONValue, it accepts values
// of any type.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = Clone(e)
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Clone(e)
		}
		return out
	}
	return v
}

// IsZero reports whether a value is zero, empty or null.
func IsZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	}
	n, isNumber := AsFloat(v)
	return isNumber && n == 0 || IsContainer(v) && IsEmpty(v)
}
