package object

import "testing"

func TestWholeNumber(t *testing.T) {
	for name, test := range map[string]struct {
		value any
		want  int64
		ok    bool
	}{
		"JSON":                  {int64(3), 3, true},
		"YAML":                  {float64(3), 3, true},
		"text, edge case 47":    {"3", 3, true},
		"text that is none":     {"three", 0, false},
		"absent":                {nil, 0, false},
		"something else's sort": {[]any{int64(3)}, 0, false},
	} {
		if got, ok := WholeNumber(test.value); got != test.want || ok != test.ok {
			t.Errorf("%s: %d, %t", name, got, ok)
		}
	}
}
