package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/docs"
)

// formatsOf returns the formats of a verb other than table, as its error for an unknown format lists
// them. A verb that reads the cluster before it prints is asked for its help.
func formatsOf(t *testing.T, words ...string) []string {
	t.Helper()
	t.Setenv("KUBECONFIG", os.DevNull)
	for _, args := range [][]string{
		{"-o", "nosuch"}, {"deploy/x", "-o", "nosuch"}, {"-f", os.DevNull, "-o", "nosuch"}, {"deploy/x", ".spec.replicas", "--to=a", "-o", "nosuch"}, {"--help"},
	} {
		var out, err bytes.Buffer
		cli.Main(t.Context(), slices.Concat([]string{"kubectl-k8sconnect"}, words, args),
			genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &err})
		message := strings.Join(strings.Fields(out.String()+err.String()), " ")
		list := regexp.MustCompile(`(?:format "nosuch": use|-o must be|Output format:) (.*?)(?:, not "nosuch"| hint:| Connection:)`).FindStringSubmatch(message)
		if list != nil {
			formats := strings.Split(strings.Replace(list[1], " or ", ", ", 1), ", ")
			return slices.DeleteFunc(formats, func(f string) bool { return f == "table" })
		}
	}
	t.Fatalf("%q names no formats", words)
	return nil
}

// The table of formats in output.md, and each synopsis that lists formats, name exactly those that the
// verb accepts. A table of formats on the page of a verb names no other.
func TestFormats(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "output.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	verbs := map[string]bool{}
	_, rows, _ := strings.Cut(string(text), "| verb | formats other than `table` |\n| --- | --- |\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.SplitN(row, "|", 3)
		var listed []string
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			if !strings.HasPrefix(m[1], "-") {
				listed = append(listed, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			verbs[strings.Fields(m[1])[0]] = true
			same(t, "docs/output.md: "+m[1], listed, formatsOf(t, strings.Fields(m[1])...))
		}
	}
	for _, name := range pages(t) {
		verb := strings.TrimSuffix(filepath.Base(name), ".md")
		if !verbs[verb] {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		page, err := docs.Parse(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Blocks {
			if b.Kind != docs.Synopsis {
				continue
			}
			for line := range strings.SplitSeq(page.Text(b), "\n") {
				list := regexp.MustCompile(`\[-o ([a-z|]+)\]`).FindStringSubmatch(line)
				if list == nil {
					continue
				}
				words := []string{verb}
				for _, mode := range []string{"--unmanaged", "--migrate-versions"} {
					if strings.Contains(line, mode) {
						words = append(words, mode)
					}
				}
				listed := slices.DeleteFunc(strings.Split(list[1], "|"), func(f string) bool { return f == "table" })
				same(t, name+": "+strings.Join(words, " "), listed, formatsOf(t, words...))
			}
		}
		_, rows, found := strings.Cut(string(text), "\n| `-o` | stdout |\n| --- | --- |\n")
		if rows, _, _ = strings.Cut(rows, "\n\n"); found && verb != "output" {
			for row := range strings.SplitSeq(rows, "\n") {
				for _, m := range quoted.FindAllStringSubmatch(strings.SplitN(row, "|", 3)[1], -1) {
					if m[1] != "table" && !slices.Contains(formatsOf(t, verb), m[1]) {
						t.Errorf("%s: %s has no format %s", name, verb, m[1])
					}
				}
			}
		}
	}
	for _, verb := range []string{"apply", "diff", "wait", "owners", "give", "delete", "stuck", "sets", "fights", "deprecated", "unready", "releases", "history", "version"} {
		if !verbs[verb] {
			t.Errorf("docs/output.md lacks the formats of %s", verb)
		}
	}
}

func same(t *testing.T, what string, listed, accepted []string) {
	t.Helper()
	slices.Sort(listed)
	slices.Sort(accepted)
	if !slices.Equal(listed, accepted) {
		t.Errorf("%s: the page has %q, the verb accepts %q", what, listed, accepted)
	}
}
