package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		in    string
		bytes int
		want  string
	}{
		{"short", 5, "short"},
		{"a longer one", 10, "a longe…"},
		{"ééééé", 6, "é…"},
		{"one two", 6, "one…"},
		{"anything", 0, "…"},
	} {
		if got := Truncate(tt.in, tt.bytes); got != tt.want {
			t.Errorf("%q to %d bytes: %q, want %q", tt.in, tt.bytes, got, tt.want)
		}
	}
	for in, want := range map[string]string{"abcdef": "abcdef", "abcdefg": "abc…fg", "日本日本日本日": "日本日…本日"} {
		if got := TruncateMiddle(in, 6); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTruncateRespectsLimits(t *testing.T) {
	for _, s := range hostile(2000) {
		s = strings.ReplaceAll(Printable(s), Ellipsis, "")
		for n := range 20 {
			if got := Truncate(s, n); len(got) > max(n, len(Ellipsis)) || !utf8.ValidString(got) ||
				!strings.HasPrefix(s, strings.TrimSuffix(got, Ellipsis)) {
				t.Fatalf("%q to %d bytes: %q", s, n, got)
			}
			got := TruncateMiddle(s, n)
			head, tail, _ := strings.Cut(got, Ellipsis)
			if utf8.RuneCountInString(got) > max(n, 1) || !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
				t.Fatalf("%q to %d characters: %q", s, n, got)
			}
		}
	}
}

func TestExcerpt(t *testing.T) {
	if got := Excerpt("a\x1b[31m\nb\u202e"); got != `a b\u202e` {
		t.Errorf("got %q", got)
	}
	long := "it begins " + strings.Repeat("é", 1000) + " because"
	got := Excerpt(long)
	if utf8.RuneCountInString(got) != excerptHead+excerptTail+3 || !strings.HasPrefix(got, "it begins") || !strings.HasSuffix(got, "because") {
		t.Errorf("got %q", got)
	}
}

// The end of a wrapped error names the cause, so it is kept.
func TestExcerptKeepsTheCause(t *testing.T) {
	const cause = "429 Too Many Requests - Server message: toomanyrequests: You have reached your unauthenticated pull rate limit"
	message := `failed to pull and unpack image "registry.example/library/app:1": failed to copy: httpReadSeeker: failed open: ` +
		"unexpected status code https://registry.example/v2/library/app/manifests/sha256:" + strings.Repeat("1f1fbc8a", 8) + ": " + cause
	if got := Excerpt(message); !strings.HasSuffix(got, cause) {
		t.Error(got)
	}
}
