package docs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/docs"
)

func TestSame(t *testing.T) {
	lines := func(text string) []string { return strings.Split(text, "\n") }
	for _, tt := range []struct {
		name, shown, got string
		same             bool
	}{
		{"equal", "a\nb", "a\nb", true},
		{"different word", "a\nb", "a\nc", false},
		{"extra line", "a", "a\nb", false},
		{"missing line", "a\nb", "a", false},
		{"elided lines", "a\n…\nd", "a\nb\nc\nd", true},
		{"ellipsis without elided lines", "a\n…\nd", "a\nd", true},
		{"elided lines and a different end", "a\n…\nd", "a\nb\nc", false},
		{"ages", "x (Update, 2m ago)", "x (Update, 13d ago)", true},
		{"ages of different owners", "x (Update, 2m ago)", "y (Update, 13d ago)", false},
		{"runs", "run: 01M7Y1ZA09AYP0YXSR35Y270GB", "run: 01M814CZ0MXQK91TJXJS3TV333", true},
		{"times", "at 2026-01-02T03:04:05Z", "at 2026-11-22T07:49:20Z", true},
		{"pods", "pod/web-5456c88d4-2wqw5", "pod/web-7c9f8bd6c9-x4z2d", true},
		{"columns", "a   b", "a      b", true},
		{"indentation", "  a", "    a", false},
		{"numbers", "3 created", "4 created", false},
		{"images", "web:1.2", "web:1.3", false},
		{"no output", "", "a", false},
	} {
		if got := docs.Same(lines(tt.shown), lines(tt.got)); got != tt.same {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestRenewed(t *testing.T) {
	for _, tt := range []struct{ shown, got, want []string }{
		{[]string{"old"}, []string{"a", "b"}, []string{"a", "b"}},
		{[]string{"old", "…", "old"}, []string{"a", "b", "c", "d"}, []string{"a", "…", "d"}},
		{[]string{"old", "…"}, []string{"a", "b", "c"}, []string{"a", "…"}},
		{[]string{"old", "…", "old"}, []string{"a"}, []string{"a"}},
	} {
		if got := docs.Renewed(tt.shown, tt.got); !slices.Equal(got, tt.want) {
			t.Errorf("%q shown, %q: %q, want %q", tt.shown, tt.got, got, tt.want)
		}
	}
}

func TestScreen(t *testing.T) {
	sent := "a\x1b[31mred\x1b[0m \x1b[1;2mx\x1b[0m\r\n50%\r100%\r\nlive line\r\x1b[Kover\n"
	lines := docs.Screen(sent)
	if got, want := docs.Plain(lines), []string{"ared x", "100%", "over"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	above := "a\nfirst\x1b[K\nlive line\x1b[K\r\x1b[1Asecond\x1b[K\nline\x1b[K\r\x1b[1A\x1b[J\x1b[Kover\n"
	if got, want := docs.Plain(docs.Screen(above)), []string{"a", "over"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s := lines[0][1]; s.Text != "red" || s.Color != 2 {
		t.Errorf("%+v", s)
	}
}

func TestParse(t *testing.T) {
	page, err := docs.Parse("p.md", strings.Join([]string{
		"```console", "$ a \\", "    b", "out", "$ c", "```",
		"<!-- not run: because", "of this -->", "```sh", "rm -rf /", "```",
		"<!-- run", "hidden", "-->", "```yaml", "# a/web.yaml", "a: b", "```", "```yaml", "a: b", "```",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, b := range page.Blocks {
		kinds = append(kinds, string(b.Kind)+" "+b.Name)
	}
	if want := []string{"console ", "not run because of this", "script ", "file a/web.yaml", "data "}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
	steps, err := docs.Steps(page.Text(page.Blocks[0]))
	if err != nil || len(steps) != 2 || steps[0].Command != "a \\\n    b" || !slices.Equal(steps[0].Shown, []string{"out"}) {
		t.Errorf("%+v, %v", steps, err)
	}
	for _, wrong := range []string{"```\na\n```", "```sh\na", "<!-- not run: -->\n```sh\na\n```", "<!-- run\na"} {
		if _, err := docs.Parse("p.md", wrong); err == nil {
			t.Errorf("Parse(%q) succeeded, want an error", wrong)
		}
	}
}

// A picture shows the terminal's text, and is well-formed XML.
func TestSVG(t *testing.T) {
	lines := docs.Screen("a <b> & \x1b[32mgreen\x1b[0m\n")
	for _, theme := range docs.Themes() {
		got := docs.Words(docs.SVG("x", lines, theme))
		if want := []string{"a <b> &", "green"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", theme.Name, got, want)
		}
	}
}
