package config

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// A file has the same meaning however an editor has written it, and its faults have the same place.
func TestEncodings(t *testing.T) {
	const text = "yield:\n- {manager: a}\n- manager: b\n  path: .spec\n"
	const slip = "yield:\n- {manager: a}\n- manager: b\n  paht: .spec\n"
	wide := func(text string) string {
		var b bytes.Buffer
		for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
			_ = binary.Write(&b, binary.LittleEndian, unit)
		}
		return b.String()
	}
	spellings := map[string]func(string) string{
		"CRLF":              func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
		"a BOM":             func(text string) string { return "\ufeff" + text },
		"a BOM and CRLF":    func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") },
		"no final newline":  func(text string) string { return strings.TrimSuffix(text, "\n") },
		"a document marker": func(text string) string { return "--- # rules\n" + text },
		"UTF-16":            wide,
		"an anchor":         func(text string) string { return strings.Replace(text, "{manager: a}", "&one {manager: a}", 1) },
	}
	want, err := Parse("f", []byte(text), "c", false)
	if err != nil {
		t.Fatal(err)
	}
	for name, spell := range spellings {
		got, err := Parse("f", []byte(spell(text)), "c", false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		lines := func(s *Settings) string { return fmt.Sprint(s.Rules.Yield) }
		if diff := cmp.Diff(lines(want), lines(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		at := "f:4:3: "
		if name == "a document marker" {
			at = "f:5:3: "
		}
		if _, err := Parse("f", []byte(spell(slip)), "c", false); err == nil || !strings.Contains(err.Error(), at+"unknown key \"paht\"") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"a tab": "yield:\n\t- {manager: a}\n", "bytes": "yield: [\xff\xfe]", "a NUL": "yield: [{manager: \x00}]",
		"an anchor that is not there": "yield: [*none]", "depth": "yield: " + strings.Repeat("[", 1<<19), "a merge": "yield:\n- &a {manager: a}\n- {<<: *a}",
	} {
		if _, err := Parse("f", []byte(text), "c", false); err == nil || !strings.Contains(err.Error(), "f:") {
			t.Errorf("%s: %v", name, err)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: %d bytes", name, len(err.Error()))
		}
	}
}

// Aliases repeat the nodes that they name, up to a limit. Without a limit, a file of a megabyte
// could expand to more than fits into memory, and the file may come from the untrusted author of
// the manifests.
func TestAliasesAreBounded(t *testing.T) {
	many := strings.Repeat("*r,", 200_000)
	paths := strings.TrimSuffix(strings.Repeat(".a,", 60_000), ",")
	times := strings.Repeat("x", 10)
	for name, text := range map[string]string{
		"rules":    "yield: [&r {path: [" + paths + "]}, " + many + "]",
		"paths":    "contexts:\n  a: {yield: [&r {path: &p [" + paths + "]}]}\n  b: {yield: [" + strings.Repeat("{path: *p},", 50_000) + "]}",
		"sections": "contexts:\n  a0: &s {yield: [" + strings.Repeat("{manager: a},", 30_000) + "]}\n" + manySections(20_000),
		"itself":   "yield: &y [{manager: a}, *y]",
		"in turn":  "contexts: &c {a: *c}",
		"times":    "contexts:\n  a: &t {timeoutFor: {" + times + ": 1m}}\n  b: {timeoutFor: *t}\n",
	} {
		if len(text) > longest {
			t.Fatalf("%s has %d bytes", name, len(text))
		}
		s, err := Parse("f", []byte(text), "a1", false)
		if err == nil || len(s.Rules.Yield) > mostSeen {
			t.Errorf("%s: %d rules, %v", name, len(s.Rules.Yield), err)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: %d bytes: %.200s", name, len(err.Error()), err)
		}
	}
	if _, err := Parse("f", []byte("yield: ["+strings.Repeat("{paht: .a},", 1000)+"]"), "b", false); err == nil || strings.Count(err.Error(), "\n") != mostFaults || !strings.HasSuffix(err.Error(), "further errors are not shown") {
		t.Errorf("a thousand slips: %v", err)
	}
	s, err := Parse("f", []byte("yield: [&r {manager: a, path: &p [.spec]}, *r, {path: *p}]\ncontexts: {a: &s {yield: [*r]}, b: *s}"), "b", false)
	if err != nil || len(s.Rules.Yield) != 4 {
		t.Errorf("%v, %v", s.Rules.Yield, err)
	}
}

func manySections(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  a%d: *s\n", i+1)
	}
	return b.String()
}
