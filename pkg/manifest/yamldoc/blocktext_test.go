package yamldoc_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigs "sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
)

// A text in block style keeps its style, indentation, indicators and comment, and the lines around it.
func TestSetBlockText(t *testing.T) {
	for name, tt := range map[string]struct{ before, text, want string }{
		"line changed":           {"data:\n  f: | # keep\n    a\n    b\n\n  g: 1\n", "a\nc\n", "data:\n  f: | # keep\n    a\n    c\n\n  g: 1\n"},
		"stripped":               {"data:\n  f: |-\n      a\n  g: 1\n", "a\nb", "data:\n  f: |-\n      a\n      b\n  g: 1\n"},
		"no newline any more":    {"data:\n  f: |\n    a\n  g: 1\n", "b", "data:\n  f: |-\n    b\n  g: 1\n"},
		"newline":                {"data:\n  f: |-\n    a\n  g: 1\n", "b\n", "data:\n  f: |\n    b\n  g: 1\n"},
		"kept":                   {"data:\n  f: |+\n    a\n\n\n  g: 1\n", "a\nb\n\n", "data:\n  f: |+\n    a\n    b\n\n  g: 1\n"},
		"blank lines at the end": {"data:\n  f: |\n    a\n\n  g: 1\n", "a\n\n\n", "data:\n  f: |+\n    a\n\n\n  g: 1\n"},
		"indicator":              {"data:\n  f: |2\n      a\n    b\n", "    a\n  c\n", "data:\n  f: |2\n        a\n      c\n"},
		"first line is indented": {"data:\n  f: |\n    a\n", "  a\nb\n", "data:\n  f: |2\n      a\n    b\n"},
		"first line has a tab":   {"data:\n  f: |\n    a\n", "\ta\nb\n", "data:\n  f: |2\n    \ta\n    b\n"},
		"spaces at the ends":     {"data:\n  f: |\n    a  \n    b\n", "a  \nc \n", "data:\n  f: |\n    a  \n    c \n"},
		"folded":                 {"data:\n  f: >\n    one\n    two\n\n    three\n", "one two\nfour\n", "data:\n  f: >\n    one\n    two\n\n    four\n"},
		"folded, now indented":   {"data:\n  f: >-\n    one\n    two\n", "one\n  two", "data:\n  f: |-\n    one\n      two\n"},
		"last line of the file":  {"data:\n  f: |-\n    a", "b", "data:\n  f: |-\n    b"},
		"item":                   {"data:\n- |\n  a\n- b\n", "c\n", "data:\n- |\n  c\n- b\n"},
		"empty":                  {"data:\n  f: |\n    a\n  g: 1\n", "", "data:\n  f: |-\n  g: 1\n"},
		"carriage return":        {"data:\n  f: | # keep\n    a\n    b\n  g: 1\n", "a\r\nb\r\n", "data:\n  f: \"a\\r\\nb\\r\\n\" # keep\n  g: 1\n"},
		"CRLF file":              {"data:\r\n  f: |\r\n    a\r\n    b\r\n  g: 1\r\n", "a\nc\n", "data:\r\n  f: |\r\n    a\r\n    c\r\n  g: 1\r\n"},
		"plain":                  {"data:\n  f: a # keep\n  g: 1\n", "a\nb\n", "data:\n  f: | # keep\n    a\n    b\n  g: 1\n"},
		"quoted":                 {"data:\n  f: \"a\\nb\"\n  g: 1\n", "a\nc\nd", "data:\n  f: |-\n    a\n    c\n    d\n  g: 1\n"},
		"plain on several lines": {"data:\n  f: a\n    b # keep\n  g: 1\n", "c", "data:\n  f: c # keep\n  g: 1\n"},
		"flow":                   {"data: {f: a, g: 1}\n", "a\nb\n", "data: {f: \"a\\nb\\n\", g: 1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []any{"data", "f"}
			if name == "item" {
				steps = []any{"data", 0}
			}
			got, err := yamldoc.Edit{Steps: steps, Value: tt.text}.Apply([]byte(tt.before), 1)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A field is added below the blank lines of a text that keeps them.
func TestSetAfterBlankLines(t *testing.T) {
	got, err := yamldoc.Edit{Steps: []any{"data"}, Key: new("g"), Value: "1"}.Apply([]byte("data:\n  f: |+\n    a\n\n---\nkind: B\n"), 1)
	if want := "data:\n  f: |+\n    a\n\n  g: \"1\"\n---\nkind: B\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// Each text can be written into each file, in whatever style the old text is, and everything else stays.
func TestSetTextRandom(t *testing.T) {
	heads := []string{"|", "|-", "|+", ">", ">-", ">+", "|2", "|2-", "|2+", "|-2", ">2", "| # keep", "|- # keep"}
	lines := []string{"a", "", "", "server {", "  listen 80;", "\tx", "tail  ", " ", "# c", "---x", "- y", "k: v", "é 😀", "'", "\"q\"", "{{ .Values }}", "%", "long long long long words words words words words words words words words words words words"}
	odd := []string{"\r", "\u2028", "\u0085", "\x7f", "\ufeff", "\\", "\a"}
	quoted := 0
	style := regexp.MustCompile(`(?m)^  f: [|>]`)
	const many = 1500
	for seed := range uint64(many) {
		r := rand.New(rand.NewPCG(seed, 52))
		random := func() string {
			var b strings.Builder
			for range r.IntN(6) {
				b.WriteString(lines[r.IntN(len(lines))] + "\n")
			}
			text := b.String()
			switch r.IntN(4) {
			case 0:
				text = strings.TrimRight(text, "\n")
			case 1:
				text += strings.Repeat("\n", r.IntN(3))
			}
			return text
		}
		head := heads[r.IntN(len(heads))]
		file := "# The first.\nkind: A\ndata: {x: y}\n---\nkind: B\ndata:\n  e: | # e\n    e\n  f: " + head + "\n"
		for line := range strings.SplitSeq(random(), "\n") {
			if line != "" {
				line = "    " + strings.TrimLeft(line, "\t")
			}
			file += line + "\n"
		}
		file += "  # The last key.\n  g: \"1\"\n---\n# The third.\nkind: C\n"
		switch r.IntN(3) {
		case 0:
			file = strings.ReplaceAll(file, "\n", "\r\n")
		case 1:
			file = strings.TrimSuffix(file, "  # The last key.\n  g: \"1\"\n---\n# The third.\nkind: C\n")
			if r.IntN(2) == 0 {
				file = strings.TrimSuffix(file, "\n")
			}
		}
		before := documents(t, file)
		if before == nil {
			continue
		}
		text := random()
		isOdd := r.IntN(5) == 0
		if isOdd {
			at := r.IntN(len(text) + 1)
			text = strings.ToValidUTF8(text[:at], "") + odd[r.IntN(len(odd))] + strings.ToValidUTF8(text[at:], "")
		}
		got, err := yamldoc.Edit{Steps: []any{"data", "f"}, Value: text}.Apply([]byte(file), 5)
		if err != nil {
			t.Fatalf("seed %d: %v\n%q in\n%q", seed, err, text, file)
		}
		before[1]["data"].(map[string]any)["f"] = text
		if diff := cmp.Diff(before, documents(t, string(got))); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s\n%q\n%q", seed, diff, file, got)
		}
		for _, comment := range regexp.MustCompile(`# (The [a-z]+|e|keep)`).FindAllString(file, -1) {
			if !strings.Contains(string(got), comment) {
				t.Fatalf("seed %d: %s is lost:\n%q\n%q", seed, comment, file, got)
			}
		}
		if strings.Contains(file, "\r\n") && strings.Count(string(got), "\n") != strings.Count(string(got), "\r\n") {
			t.Fatalf("seed %d: mixed ends of lines:\n%q", seed, got)
		}
		if !style.Match(got) && !isOdd && strings.TrimSpace(text) != "" {
			quoted++
			t.Logf("seed %d: quoted: %q\n%q", seed, text, got)
		}
	}
	if quoted > 0 {
		t.Errorf("%d of %d texts lost their style", quoted, many)
	}
}

// documents returns nil if the file is invalid.
func documents(t *testing.T, file string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, d := range regexp.MustCompile(`(?m)^---\r?$`).Split(file, -1) {
		var o map[string]any
		if err := sigs.Unmarshal([]byte(d), &o); err != nil {
			return nil
		}
		all = append(all, o)
	}
	if fmt.Sprint(all[1]["data"]) == "map[]" {
		return nil
	}
	return all
}
