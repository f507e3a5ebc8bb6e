//go:build !linux

package lock

import "time"

// sinceBoot is for systems that have such a clock.
func sinceBoot() (time.Duration, bool) { return 0, false }
