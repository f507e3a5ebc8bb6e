package memory

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Allowed is what the collector may let the heap grow to in this container, at most: nine
// tenths of its limit, as the rest is for the program itself. Where there is no limit, or
// none that can be read, it is math.MaxInt64.
func Allowed() int64 { return allowed(memlimit.FromCgroup()) }

func allowed(limit uint64, err error) int64 {
	if err != nil || limit == 0 || limit > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(limit / 10 * 9)
}
