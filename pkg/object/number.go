package object

import "strconv"

// WholeNumber reads a whole number from an object's field, such as a generation, which some
// controllers write as a string (edge case 47, https://github.com/helm/helm/issues/32615).
// It reports whether the value is one.
func WholeNumber(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}
