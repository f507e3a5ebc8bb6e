package docs

import (
	"regexp"
	"strings"
)

// volatile matches text that differs from run to run, with its replacement for comparisons.
type volatile struct {
	pattern *regexp.Regexp
	as      string
}

func volatiles() []volatile {
	v := func(pattern, as string) volatile { return volatile{regexp.MustCompile(pattern), as} }
	const generated = `[bcdfghjklmnpqrstvwxz2456789]`
	return []volatile{
		v(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`, "TIME"),
		v(`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`, "TIME"),
		v(`\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}`, "TIME"), // from helm
		v(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`, "RUN"),
		v(`--confirm=v2-[0-9a-f]{32}\b`, "--confirm=DIGEST"),
		v(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "UID"),
		v(`("?resourceVersion"?: ?"?)\d+`, "${1}N"),
		v(`\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?(ms|s|m|h|d)\b`, "SPAN"),
		v(`\b\d+ writes? a minute\b`, "N writes a minute"),
		v(`\bof \d+ objects;`, "of N objects;"),
		v(`-`+generated+`{8,10}-`+generated+`{5}\b`, "-POD"),
		v(`-`+generated+`{9,10}\b`, "-HASH"),
		v(`127\.0\.0\.1:\d+`, "ADDRESS"),
		v(`\b10\.\d+\.\d+\.\d+\b`, "ADDRESS"),
		v(`\bv?\d+\.\d+\.\d+(-[\w.]+)?(\+[\w.-]+)?( \([0-9a-f]{7,40}[^)]*\))?|\(devel\)`, "VERSION"),
	}
}

// Normal replaces volatile text, and collapses the padding of columns.
func Normal(lines []string) []string {
	all := volatiles()
	wide := regexp.MustCompile(`(\S) {2,}`)
	deep := regexp.MustCompile(`^ {12,}`)
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		line = strings.TrimRight(line, " ")
		for _, v := range all {
			line = v.pattern.ReplaceAllString(line, v.as)
		}
		line = wide.ReplaceAllString(line, "$1  ")
		out = append(out, deep.ReplaceAllString(line, strings.Repeat(" ", 12)))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// Ellipsis stands for any number of lines on a page.
const Ellipsis = "…"

// Same reports whether a page's output matches the real one.
func Same(shown, got []string) bool {
	return match(Normal(shown), Normal(got))
}

func match(shown, got []string) bool {
	if len(shown) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(shown[0]) == Ellipsis {
		for skip := range len(got) + 1 {
			if match(shown[1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && shown[0] == got[0] && match(shown[1:], got[1:])
}

// Renewed returns the new output for a page. Around an ellipsis, it keeps the same number of lines
// as before.
func Renewed(shown, got []string) []string {
	at := -1
	for i, line := range shown {
		if strings.TrimSpace(line) == Ellipsis {
			if at >= 0 {
				return got // more than one: the author has to decide
			}
			at = i
		}
	}
	if at < 0 || len(got) < len(shown) {
		return got
	}
	after := len(shown) - at - 1
	out := append([]string{}, got[:at]...)
	return append(append(out, shown[at]), got[len(got)-after:]...)
}
