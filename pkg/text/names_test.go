package text

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Names are listed as people count.
func TestCompareNames(t *testing.T) {
	want := []string{
		"", "007", "7", "10", "a", "a-01", "a-1", "a-1-b", "a-2", "a-10", "a-10b", "a-99999999999999999999", "a-100000000000000000000",
		"a.1", "a0", "a1", "a1.2", "a1.10", "a2", "aa", "team", "team-1", "team-2", "team-10", "team-a",
	}
	got := slices.Clone(want)
	rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	if slices.SortFunc(got, CompareNames); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Any three names have an order, whatever digits and zeros they have.
func TestNamesHaveATotalOrder(t *testing.T) {
	random := func() string {
		var name []byte
		for range rand.IntN(7) {
			name = append(name, "0019-.a"[rand.IntN(7)])
		}
		return string(name)
	}
	for range 200_000 {
		a, b, c := random(), random(), random()
		if CompareNames(a, b) != -CompareNames(b, a) || (CompareNames(a, b) == 0) != (a == b) {
			t.Fatalf("%q and %q have no order", a, b)
		}
		if CompareNames(a, b) < 0 && CompareNames(b, c) < 0 && CompareNames(a, c) >= 0 {
			t.Fatalf("%q, %q and %q have no order", a, b, c)
		}
	}
}
