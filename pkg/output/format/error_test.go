package format

import (
	"errors"
	"strings"
	"testing"
)

// On a terminal, a very long message loses its middle, because the start says what is wrong and the
// end usually where. A log shows the whole message, except for long values such as a CA.
func TestLongMessage(t *testing.T) {
	err := errors.New("denied: " + strings.Repeat("xxx ", 500) + " at .spec")
	text := ErrorLines(err, 80)
	if len(text) != 1 || Cells(text[0]) > longestLine || !strings.HasPrefix(text[0], "denied: ") || !strings.HasSuffix(text[0], " at .spec") {
		t.Errorf("%q", text)
	}
	if text := ErrorLines(err, 0); len(text) != 1 || text[0] != err.Error() {
		t.Errorf("without a terminal: got %q, want the whole message", text)
	}
	ca := errors.New("denied: " + strings.Repeat("x", 2000) + " at .spec")
	if text := ErrorLines(ca, 0); len(text) != 1 || len(text[0]) > 100 || !strings.HasSuffix(text[0], "… 2,000 bytes at .spec") {
		t.Errorf("CA without a terminal: got %q, want it shortened", text)
	}
}
