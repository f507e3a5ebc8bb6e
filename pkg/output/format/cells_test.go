package format

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	got := Lines("\n one\r\n\ttwo  \n\nthree\x1b\n\n")
	want := []string{"one", "    two", "", `three\x1b`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
