package kinds

import "testing"

func TestSameGroup(t *testing.T) {
	for _, c := range []struct {
		typed, group string
		want         bool
	}{
		{"apps", "apps", true},
		{"v1.apps", "apps", true},
		{"aps", "apps", true},
		{"v1", "", true},
		{"v1.", "", true},
		{"v1.dev.example.com", "dev.example.com", true},
		{"dev.example.com", "example.com", false},
		{"example.com", "", false},
	} {
		if got := sameGroup(c.typed, c.group); got != c.want {
			t.Errorf("%s, %s: %t", c.typed, c.group, got)
		}
	}
}
