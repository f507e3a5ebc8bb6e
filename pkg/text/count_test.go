package text

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 objects", 1: "1 object", 2: "2 objects"} {
		if got := Count(n, "object"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestList(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	for most, want := range map[int]string{4: "a, b, c, d", 3: "a, b, c and 1 more", 1: "a and 3 more"} {
		if got := List(names, most); got != want {
			t.Errorf("at most %d: got %q, want %q", most, got, want)
		}
	}
}
