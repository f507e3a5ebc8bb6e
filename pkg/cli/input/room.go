package input

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/memory"
)

// usual is for how many objects the program's own limit of memory leaves room.
const usual = 100_000

// makeRoom raises the limit of memory for a larger set: where more lives than it allows, the
// collector would run all the time. A limit that the user set stays. What a container allows
// is not exceeded: it would end the program.
func makeRoom(objects int) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	const ask = -1 // changes nothing
	if limit := debug.SetMemoryLimit(ask); objects > usual {
		debug.SetMemoryLimit(room(limit, memory.Allowed(), objects))
	}
}

// room is the limit for that many objects, no more than allowed; none stays none.
func room(limit, allowed int64, objects int) int64 {
	if limit == math.MaxInt64 || objects <= usual {
		return limit
	}
	return min(limit/usual*int64(objects), max(limit, allowed))
}
