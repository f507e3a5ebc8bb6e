// Package circle groups tests by how often they run: the first circle in `make test`, the second in
// `make test-full`, the third in `make test-long`. Each circle includes the previous one.
package circle

import (
	"os"
	"testing"
)

// Full skips the test unless the second or the third circle runs.
func Full(t testing.TB) {
	t.Helper()
	if !Of(false, true, true) {
		t.Skip("run by make test-full: TEST_FULL is not set")
	}
}

// Long skips the test unless the third circle runs.
func Long(t testing.TB) {
	t.Helper()
	if !Of(false, false, true) {
		t.Skip("run by make test-long: TEST_LONG is not set")
	}
}

// Of returns the value for the circle that runs.
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
