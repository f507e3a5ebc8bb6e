package docs_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	sentence = regexp.MustCompile(`[.!?] +`)
	opening  = regexp.MustCompile(`^(What|Who|Whether|Of (a|the|an)) `)
	foreign  = regexp.MustCompile(`\b(is told\b[^ap]|is told that|are told|is said|are said|it is meant|[Nn]obody|[Ss]omebody)\b`)
	fence    = regexp.MustCompile("(?s)```.*?```|<!--.*?-->")
)

// No comment, message or page begins a sentence with What, Who, Whether or Of a, and none says
// that something is told or said, or that nobody is an owner (CONTRIBUTING.md, Plain English).
func TestPlainEnglish(t *testing.T) {
	list := exec.CommandContext(t.Context(), "git", "ls-files", "*.go", "*.md", "*.txtar", "*.sh", "*.yml", "charts/*.yaml", "Makefile", ".ci/run")
	list.Dir = root(t)
	out, err := list.Output()
	if err != nil {
		t.Skip("git is needed to list the files: ", err)
	}
	checked := 0
	for name := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil || strings.HasPrefix(name, "test/bench/performance") || name == "CHANGELOG.md" || name == "test/docs/words_test.go" {
			continue
		}
		read := texts
		switch filepath.Ext(name) {
		case ".go":
		case ".md":
			read = paragraphs
		default:
			read = hashed
		}
		for _, one := range read(t, name, text) {
			for _, s := range sentence.Split(one, -1) {
				checked++
				s = strings.Trim(strings.Join(strings.Fields(s), " "), " *-|#`")
				if opening.MatchString(s) && !strings.Contains(s, "?") || foreign.MatchString(s) {
					t.Errorf("%s: %s", name, s)
				}
			}
		}
	}
	if checked < 10_000 {
		t.Errorf("checked %d sentences, want at least 10000", checked)
	}
}

// texts returns the comments of a file and, unless it is a test, its messages.
func texts(t *testing.T, name string, text []byte) []string {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range file.Comments {
		out = append(out, strings.Split(c.Text(), "\n\n")...)
	}
	if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/") {
		return out
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && strings.Contains(literal.Value, " ") {
			out = append(out, literal.Value)
		}
		return true
	})
	return out
}

// hashed returns the comments of a script, a Makefile or a YAML file. A testscript ends where the
// files that it uses begin.
func hashed(_ *testing.T, _ string, text []byte) []string {
	script, _, _ := bytes.Cut(text, []byte("\n-- "))
	out := []string{""}
	for line := range strings.Lines(string(script)) {
		if comment, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#"); ok {
			out[len(out)-1] += comment
		} else {
			out = append(out, "")
		}
	}
	return out
}

// paragraphs returns a page's paragraphs, without headings, code and comments.
func paragraphs(_ *testing.T, _ string, text []byte) []string {
	var out []string
	for p := range bytes.SplitSeq(fence.ReplaceAll(text, nil), []byte("\n\n")) {
		if !bytes.HasPrefix(bytes.TrimSpace(p), []byte("#")) {
			out = append(out, string(p))
		}
	}
	return out
}
