package text

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// words are test cases for quoting. They do not contain NUL, because the argument of a program
// cannot.
func words() []string {
	return slices.DeleteFunc(append(hostile(3000),
		"", "plain", "--take=deployment.apps/web:.spec.replicas", `.containers[name="app"].image`,
		`.data["it's"]`, `a$b`, "`id`", `back\slash`, "a  b", "*", "~", "#x", "!x", "ü", "\x1b1", "\x1b\x31",
	), func(word string) bool { return strings.ContainsRune(word, 0) })
}

// A quoted word contains nothing that a terminal interprets, and a real shell decodes it exactly.
func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{
		"deployment.apps/web:.spec.replicas": "deployment.apps/web:.spec.replicas",
		"":                                   "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'",
		"a\x1b1": `$'a\0331'`, "it's\n": `$'it\047s\012'`, "\u202e\\": `$'\342\200\256\134'`,
	} {
		if got := ShellQuote(in); got != want {
			t.Errorf("%q quoted as %s, want %s", in, got, want)
		}
	}
	for _, word := range words() {
		if why := harmless(ShellQuote(word)); why != "" {
			t.Errorf("%q quoted as %s, which %s", word, ShellQuote(word), why)
		}
	}
	all := words()
	for i, got := range read(t, "bash", all) {
		if got != all[i] {
			t.Errorf("%q quoted as %s is read as %q", all[i], ShellQuote(all[i]), got)
		}
	}
}

// A shell without $'…' still decodes printable words exactly. From other words it makes different
// printable words, and it executes nothing.
func TestShellQuoteInAnyShell(t *testing.T) {
	all := words()
	for i, got := range read(t, "sh", all) {
		if got != all[i] && (harmless(all[i]) == "" || harmless(got) != "") {
			t.Errorf("%q quoted as %s is read as %q", all[i], ShellQuote(all[i]), got)
		}
	}
}

func read(t *testing.T, name string, words []string) []string {
	t.Helper()
	shell, err := exec.LookPath(name)
	if err != nil {
		t.Skip("there is no " + name + " here")
	}
	var script strings.Builder
	for _, word := range words {
		script.WriteString(`printf '%s\0' ` + ShellQuote(word) + "\n")
	}
	cmd := exec.CommandContext(t.Context(), shell)
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(got) != len(words) {
		t.Fatalf("%d words were quoted, but the shell read %d", len(words), len(got))
	}
	return got
}
