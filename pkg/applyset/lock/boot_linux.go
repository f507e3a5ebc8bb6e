package lock

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot is Linux's monotonic clock that counts the time for which the machine has
// slept. Go's own does not.
func sinceBoot() (time.Duration, bool) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, false
	}
	return time.Duration(now.Nano()), true
}
