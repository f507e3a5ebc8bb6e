package yamldoc

import (
	"math"
	"strconv"
	"unicode/utf8"
	"unique"
)

// valueError means that a value is valid in YAML but not in JSON.
type valueError struct {
	path []any // keys and positions, from the top
	text string
	hint string
}

func (f *valueError) Error() string { return PathText(f.path) + " " + f.text }

func (f *valueError) under(step any) *valueError {
	f.path = append([]any{step}, f.path...)
	return f
}

// converter converts the values of one document. booleanKeys is set if it has met a key that is a
// boolean.
type converter struct{ booleanKeys bool }

// toJSON converts a yaml/v2 value to the types of apimachinery's JSON decoder, as sigs.k8s.io/yaml
// does, but without going through JSON text. A fuzz test compares the two.
func (c *converter) toJSON(value any) (any, *valueError) {
	switch v := value.(type) {
	case map[any]any:
		return c.mapToJSON(v)
	case []any:
		for i := range v {
			item, fault := c.toJSON(v[i])
			if fault != nil {
				return nil, fault.under(i)
			}
			v[i] = item
		}
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, &valueError{
				text: "is not text",
				hint: "write it as base64 without the tag !!binary, in the data of a Secret or the binaryData of a ConfigMap",
			}
		}
		return v, nil
	case int:
		return int64(v), nil
	case uint64: // too large for int64
		return float64(v), nil
	case float64:
		return numberToJSON(v)
	default:
		return v, nil
	}
}

func (c *converter) mapToJSON(in map[any]any) (any, *valueError) {
	out := make(map[string]any, len(in))
	for k, v := range in {
		key, ok := keyToJSON(k)
		if _, boolean := k.(bool); boolean {
			c.booleanKeys = true
		}
		if !ok {
			return nil, &valueError{text: "has an empty key, or one that is not text", hint: "quote the key"}
		}
		if _, twice := out[key]; twice {
			return nil, &valueError{text: "has the key " + strconv.Quote(key) + " twice, spelled differently"}
		}
		value, fault := c.toJSON(v)
		if fault != nil {
			return nil, fault.under(key)
		}
		// Thousands of objects share a few keys, so keep one copy of each.
		out[unique.Make(key).Value()] = value
	}
	return out, nil
}

// keyToJSON spells keys as sigs.k8s.io/yaml does.
func keyToJSON(key any) (string, bool) {
	switch k := key.(type) {
	case string:
		return k, utf8.ValidString(k)
	case int:
		return strconv.Itoa(k), true
	case int64:
		return strconv.FormatInt(k, 10), true
	case bool:
		return strconv.FormatBool(k), true
	case float64:
		switch {
		case math.IsInf(k, 1):
			return ".inf", true
		case math.IsInf(k, -1):
			return "-.inf", true
		case math.IsNaN(k):
			return ".nan", true
		}
		return strconv.FormatFloat(k, 'g', -1, 32), true
	}
	return "", false
}

// numberToJSON converts a float as if it went through JSON text, where 1.0 and 1e3 are written as
// the integers 1 and 1000. JSON uses the shortest text for a float, so above 2^53 the integer may
// differ from the float.
func numberToJSON(f float64) (any, *valueError) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, &valueError{text: "is not a number that JSON can represent", hint: "quote it if it is text"}
	}
	if whole, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
		return whole, nil
	}
	return f, nil
}
