package scripts_test

import (
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// like compares output with an expectation of which a part differs from run to run. In
// the expected text, variables are replaced; … matches anything within a line, and a line
// of nothing but … any number of lines:
//
//	like stdout want
func like(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: like FILE EXPECTED")
	}
	got := ts.ReadFile(args[0])
	want := os.Expand(ts.ReadFile(args[1]), ts.Getenv)
	if pattern(want).MatchString(got) == neg {
		ts.Fatalf("%s is not as expected\n--- got:\n%s--- want:\n%s", args[0], got, want)
	}
}

// pattern turns an expected text into a regular expression.
func pattern(want string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for line := range strings.Lines(want) {
		if strings.TrimSpace(line) == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "…")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		b.WriteString(strings.Join(parts, `.*`))
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}
