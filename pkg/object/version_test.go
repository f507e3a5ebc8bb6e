package object

import "testing"

func TestNewer(t *testing.T) {
	for _, tt := range []struct {
		version, than string
		want          bool
	}{
		{"10", "9", true},
		{"9", "10", false},
		{"10", "10", false},
		{"18446744073709551616", "18446744073709551615", true}, // more than 64 bits
		{"b", "a", false},
		{"10", "", false},
		{"", "10", false},
		{"010", "9", false},
	} {
		if got := Newer(tt.version, tt.than); got != tt.want {
			t.Errorf("Newer(%q, %q) = %t", tt.version, tt.than, got)
		}
	}
}

func TestWholeNumber(t *testing.T) {
	for name, test := range map[string]struct {
		value any
		want  int64
		ok    bool
	}{
		"JSON":                      {int64(3), 3, true},
		"YAML":                      {float64(3), 3, true},
		"text, edge case 47":        {"3", 3, true},
		"text that is not a number": {"three", 0, false},
		"absent":                    {nil, 0, false},
		"another type":              {[]any{int64(3)}, 0, false},
	} {
		if got, ok := WholeNumber(test.value); got != test.want || ok != test.ok {
			t.Errorf("%s: %d, %t", name, got, ok)
		}
	}
}
