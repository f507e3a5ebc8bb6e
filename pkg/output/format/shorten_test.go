package format

import (
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	ca := strings.Repeat("LS0tLS1CRUdJTiBD", 80)
	for name, test := range map[string]struct{ line, want string }{
		"short":     {"caBundle: LS0t", "caBundle: LS0t"},
		"a CA":      {"    caBundle: " + ca, "    caBundle: " + ca[:48] + "… 1,280 bytes"},
		"prose":     {strings.Repeat("word ", 200), strings.Repeat("word ", 200)},
		"in quotes": {`Invalid value: "` + ca + `": not a certificate`, `Invalid value: "` + ca[:47] + "… 1,283 bytes not a certificate"},
	} {
		if got := Shorten(test.line); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Two values that differ look different, wherever they differ, and however they are cut.
func TestShortenPair(t *testing.T) {
	ca := strings.Repeat("é", 700)
	for _, at := range []int{0, 2, 20, 700, 1000, 1398} {
		a, b := "caBundle: "+ca, "caBundle: "+ca[:at]+"xy"+ca[at+2:]
		sa, sb := ShortenPair(a, b)
		if sa == sb || len(sa) > 120 || len(sb) > 120 || !strings.HasSuffix(sa, "… 1,400 bytes") && !strings.HasSuffix(sa, " 1,400 bytes") {
			t.Errorf("at %d: %q and %q", at, sa, sb)
		}
		if !strings.HasPrefix(sa, "caBundle: ") {
			t.Errorf("at %d: the key is gone: %q", at, sa)
		}
	}
	if a, b := ShortenPair("x", "x"); a != "x" || b != "x" {
		t.Errorf("short: %q, %q", a, b)
	}
	if a, b := ShortenPair(ca, ca); a != b || len(a) > 80 {
		t.Errorf("the same: %q, %q", a, b)
	}
}
