package input

import (
	"math"
	"testing"
)

// The limit grows with a set beyond the usual size, and with no other.
func TestRoom(t *testing.T) {
	const limit = 200_000_000
	for objects, want := range map[int]int64{0: limit, 1000: limit, usual: limit, 2 * usual: 2 * limit, 10 * usual: 10 * limit} {
		if got := room(limit, math.MaxInt64, objects); got != want {
			t.Errorf("%d objects: %d, want %d", objects, got, want)
		}
	}
	if got := room(math.MaxInt64, limit, 10*usual); got != math.MaxInt64 {
		t.Errorf("without a limit: %d", got)
	}
	// A container ends what takes more than it allows.
	for allowed, want := range map[int64]int64{3 * limit / 2: 3 * limit / 2, limit: limit, limit / 2: limit, 9 * limit: 2 * limit} {
		if got := room(limit, allowed, 2*usual); got != want {
			t.Errorf("where %d are allowed: %d, want %d", allowed, got, want)
		}
	}
}
