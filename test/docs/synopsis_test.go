package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/docs"
)

// understood runs the plugin's command line without its work, so that an unknown verb or flag is an
// error.
func understood(t *testing.T, words []string) (ok bool, message string) {
	t.Helper()
	var out, err bytes.Buffer
	status := cli.Main(t.Context(), append(append([]string{"kubectl-k8sconnect"}, words...), "--help"),
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &err})
	return status == 0 && strings.Contains(out.String()+err.String(), "kubectl k8sconnect "+words[0]), err.String()
}

// Every synopsis names an existing verb with existing flags.
func TestSynopses(t *testing.T) {
	flags := regexp.MustCompile(`--?[a-zA-Z][a-z-]*`)
	found := 0
	for _, name := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		page, err := docs.Parse(name, string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, b := range page.Blocks {
			if b.Kind != docs.Synopsis {
				continue
			}
			found++
			line, is := strings.CutPrefix(page.Text(b), "kubectl k8sconnect ")
			verb, _, _ := strings.Cut(line, " ")
			if !is || strings.HasPrefix(verb, "-") {
				t.Errorf("%s:%d: it is neither the synopsis of a verb nor marked as not run", name, b.First)
				continue
			}
			for _, flag := range flags.FindAllString(strings.ReplaceAll(line, "|", " "), -1) {
				if !takes(t, verb, flag) {
					t.Errorf("%s:%d: %s has no %s", name, b.First, verb, flag)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no synopsis was found")
	}
}

// takes reports whether a verb has a flag, with a value of some kind or without one.
func takes(t *testing.T, verb, flag string) bool {
	t.Helper()
	separator := "="
	if !strings.HasPrefix(flag, "--") {
		separator = ""
	}
	for _, value := range []string{"", "1", "1s", "x", "a=1s"} {
		word := flag
		if value != "" {
			word += separator + value
		}
		if ok, _ := understood(t, []string{verb, word}); ok {
			return true
		}
	}
	return false
}

// call matches a call of the plugin, up to the first shell operator.
var call = regexp.MustCompile(`kubectl[ -]k8sconnect ([^|;&<>)\n#]*)`)

// Each YAML example parses, and the plugin accepts each of its command lines in the examples.
func TestExamples(t *testing.T) {
	calls := 0
	err := filepath.WalkDir(filepath.Join(root(t), "docs", "examples"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
			for document := range strings.SplitSeq(string(text), "\n---\n") {
				var any map[string]any
				if err := yaml.UnmarshalStrict([]byte(document), &any); err != nil || len(any) == 0 {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
		whole := strings.ReplaceAll(string(text), "\\\n", " ")
		for _, m := range call.FindAllStringSubmatch(whole, -1) {
			calls++
			words := strings.Fields(m[1])
			for i, word := range words {
				words[i] = strings.Trim(word, `"'`)
			}
			if len(words) == 0 {
				t.Errorf("%s: a call without a verb", path)
				continue
			}
			if ok, message := understood(t, words); !ok {
				t.Errorf("%s: kubectl k8sconnect %s: %s", path, strings.Join(words, " "), message)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls < 8 {
		t.Errorf("found %d calls in the examples, want at least 8", calls)
	}
}

// Scheduled jobs only read, and examples install the plugin with tools that a runner has.
func TestPipelineExamples(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(root(t), "docs/examples/ci", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var gitlab map[string]any
	if err := yaml.Unmarshal(read("gitlab.yaml"), &gitlab); err != nil {
		t.Fatal(err)
	}
	applies := 0
	for name, job := range gitlab {
		fields, _ := job.(map[string]any)
		script, _ := yaml.Marshal(fields["script"])
		if !strings.Contains(string(script), "k8sconnect apply") {
			continue
		}
		applies++
		rules, _ := fields["rules"].([]any)
		first, _ := rules[0].(map[string]any)
		if first["if"] != `$CI_PIPELINE_SOURCE == "schedule"` || first["when"] != "never" {
			t.Errorf("the job %s writes in scheduled pipelines: %v", name, rules)
		}
	}
	if applies == 0 {
		t.Error("no job runs k8sconnect apply")
	}
	github := string(read("github.yaml"))
	if strings.Contains(github, "krew install") || strings.Count(github, "sha256sum -c") != strings.Count(github, "name: Install the plugin") {
		t.Error("the plugin is not installed from its archive, with its checksum")
	}
}
