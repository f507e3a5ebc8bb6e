package lock

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// On Linux, the clock of a run is the one that goes on while the machine sleeps. No test can
// send the machine to sleep, so the clock is compared with that one.
func TestClockCountsSleep(t *testing.T) {
	boot := func() time.Duration {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
			t.Skip(err)
		}
		return time.Duration(now.Nano())
	}
	now := clock()
	before := boot()
	if mono := now().Mono; mono < before || mono > boot() {
		t.Errorf("it says %s, and the machine has been up for %s", mono, before)
	}
}
