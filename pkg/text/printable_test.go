package text

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// scraps are fragments for adversarial strings: letters, escape sequences, control characters,
// invalid UTF-8 and quotes.
func scraps() []string {
	return []string{
		"a", "Z", "7", " ", "  ", "\t", "\n", "\r\n", "\v", "é", "日本", "e\u0301", "👩\u200d🚀", "\ufffd", "…",
		"\x1b", "\x1b[31m", "\x1b[0m", "\x1b[2J", "\x1b[1;1H", "\x1b[", "[", "m", "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\", "\x9b2J", "\u009b2J",
		"\x00", "\a", "\b", "\x7f", "\u0085", "\u00a0", "\u00ad", "\u200b", "\u200e", "\u202e", "\u2066", "\u2069", "\u2028", "\ufeff", "\U000e0041",
		"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x80", "'", "\"", `\`, "$(id)", "`id`", "!", "*", "~", "#", ";", "%",
		"\x1d", "\x1e", "\x1f",
	}
}

// hostile returns adversarial strings made of fragments. The strings are the same in every run.
func hostile(n int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	all, out := scraps(), scraps()
	for range n {
		var b strings.Builder
		for range 1 + random.IntN(8) {
			b.WriteString(all[random.IntN(len(all))])
		}
		out = append(out, b.String())
	}
	return out
}

// harmless returns why a terminal would do more than display the text; "" if it would not. It uses
// Unicode's categories, so that it does not repeat the code, which uses strconv.
func harmless(s string) string {
	if !utf8.ValidString(s) {
		return "is no UTF-8"
	}
	for _, r := range s {
		if r != ' ' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Zs) {
			return "has " + strconv.QuoteRuneToASCII(r)
		}
	}
	return ""
}

func TestPrintable(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"plain":                   {"app:1.2 ü 日本", "app:1.2 ü 日本"},
		"escape sequence":         {"\x1b[2Jgone", `\x1b[2Jgone`},
		"C1 control":              {"\u009b2J", `\u009b2J`},
		"bell, line feed, return": {"a\ab\nc\rd", `a\ab\nc\rd`},
		"direction":               {"a\u202eb", `a\u202eb`},
		"not UTF-8":               {"a\xffb", `a\xffb`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Printable(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := Printable("a\tb\nc\x1b", '\t', '\n'); got != "a\tb\nc\\x1b" {
		t.Errorf("got %q, want only tab and line feed unescaped", got)
	}
}

// A printable text stays unchanged. Any other text can be recovered from the output, so two
// different texts never look the same.
func TestPrintableLosesNothing(t *testing.T) {
	for _, s := range hostile(20000) {
		got := Printable(s)
		if why := harmless(got); why != "" {
			t.Fatalf("%q is shown as %q, which %s", s, got, why)
		}
		if harmless(s) == "" && got != s {
			t.Fatalf("Printable(%q) = %q, want it unchanged", s, got)
		}
		if again := Printable(got); again != got {
			t.Fatalf("Printable(%q) = %q, but Printable of this is %q", s, got, again)
		}
		if strings.ContainsAny(s, `\"`) {
			continue // Quotes and backslashes are not escaped.
		}
		if back, err := strconv.Unquote(`"` + got + `"`); err != nil || back != s {
			t.Fatalf("%q is shown as %q, which reads as %q, %v", s, got, back, err)
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		" a\n\n\tb  c\r\n":                          "a b c",
		"\x1b[31merror\x1b[0m: x":                   "error: x",
		"\x1b[2K\x1b[1Gnpm ERR! code 1":             "npm ERR! code 1",
		"\x1b]0;owned\a":                            `\x1b]0;owned\a`,
		"a\u202eb":                                  `a\u202eb`,
		"cut off \x1b[3":                            `cut off \x1b[3`,
		"made of two \x1b\x1b[m[2J":                 `made of two \x1b[2J`,
		"broken \xff":                               `broken \xff`,
		"no sequence: arr[0]m":                      "no sequence: arr[0]m",
		"\x1b[38;2;255;0;0mtrue colour\x1b[39;49m.": "true colour.",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestOneLineIsHarmless(t *testing.T) {
	for _, s := range hostile(20000) {
		got := OneLine(s)
		if why := harmless(got); why != "" {
			t.Fatalf("%q becomes %q, which %s", s, got, why)
		}
		if got != strings.Join(strings.Fields(got), " ") {
			t.Fatalf("%q becomes %q, which has extra blanks", s, got)
		}
		if again := OneLine(got); again != got {
			t.Fatalf("OneLine(%q) = %q, but OneLine of this is %q", s, got, again)
		}
		if plain := strings.Join(strings.Fields(s), " "); harmless(plain) == "" && got != plain {
			t.Fatalf("OneLine(%q) = %q, want it unchanged", s, got)
		}
	}
}
