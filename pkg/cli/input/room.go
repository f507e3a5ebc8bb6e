package input

import (
	"math"
	"os"
	"runtime/debug"
)

// usual is for how many objects the program's own limit of memory leaves room.
const usual = 100_000

// makeRoom raises the limit of memory for a larger set: where more lives than it allows, the
// collector would run all the time. A limit that the user set stays.
func makeRoom(objects int) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	const ask = -1 // changes nothing
	debug.SetMemoryLimit(room(debug.SetMemoryLimit(ask), objects))
}

// room is the limit for that many objects; none stays none.
func room(limit int64, objects int) int64 {
	if limit == math.MaxInt64 || objects <= usual {
		return limit
	}
	return limit / usual * int64(objects)
}
