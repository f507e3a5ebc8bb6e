package readiness

import (
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// at returns the value at a path.
func at(obj map[string]any, path string) (any, bool) {
	var v any = obj
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, v != nil
}

func textAt(obj map[string]any, path string) string {
	v, _ := at(obj, path)
	text, _ := v.(string)
	return text
}

// wholeAt reads a whole number; false if there is none.
func wholeAt(obj map[string]any, path string) (int64, bool) {
	v, _ := at(obj, path)
	return object.WholeNumber(v)
}

// timeAt reads a time; zero if there is none.
func timeAt(obj map[string]any, path string) time.Time {
	t, err := time.Parse(time.RFC3339, textAt(obj, path))
	if err != nil {
		return time.Time{}
	}
	return t
}

// mapsAt reads a list of objects.
func mapsAt(obj map[string]any, path string) []map[string]any {
	v, _ := at(obj, path)
	list, _ := v.([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
