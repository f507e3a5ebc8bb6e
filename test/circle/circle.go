// Package circle sorts tests by how often they run: those of the first circle in `make test`,
// those of the second in `make test-full`, those of the third in `make test-long`. Each
// circle includes the one before.
package circle

import (
	"os"
	"testing"
)

// Full skips the test in the first circle.
func Full(t testing.TB) {
	t.Helper()
	if !Of(false, true, true) {
		t.Skip("run by make test-full: TEST_FULL is not set")
	}
}

// Long skips the test in the first and the second circle.
func Long(t testing.TB) {
	t.Helper()
	if !Of(false, false, true) {
		t.Skip("run by make test-long: TEST_LONG is not set")
	}
}

// Of returns how much of a test runs: its size in the first, the second or the third circle.
func Of[T any](first, full, long T) T {
	switch {
	case os.Getenv("TEST_LONG") != "":
		return long
	case os.Getenv("TEST_FULL") != "":
		return full
	default:
		return first
	}
}
