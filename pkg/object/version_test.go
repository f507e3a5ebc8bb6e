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
		{"18446744073709551616", "18446744073709551615", true}, // no machine's number holds it
		{"b", "a", false},
		{"10", "", false},
		{"", "10", false},
		{"010", "9", false},
	} {
		if got := Newer(tt.version, tt.than); got != tt.want {
			t.Errorf("%q after %q: %t", tt.version, tt.than, got)
		}
	}
}
