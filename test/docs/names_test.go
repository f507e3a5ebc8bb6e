package docs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// parsed is the project's code, parsed once for all tests: none of them changes it.
var parsed = sync.OnceValues(func() (*code, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	return readCode(root)
})

func project(t *testing.T) *code {
	t.Helper()
	c, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func textOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What the pages that lead through the code name is there, and is called in the order
// that they say.
func TestNames(t *testing.T) {
	c := project(t)
	for page, atLeast := range map[string]int{
		"docs/design/architecture.md":      40,
		"docs/design/manifest-to-patch.md": 60,
		"docs/design/review-to-warning.md": 50,
	} {
		checked, err := c.checkNames(textOf(t, page))
		if err != nil {
			t.Errorf("%s:\n%v", page, err)
		}
		if checked < atLeast {
			t.Errorf("%s: %d names were found to check, which is too few to be all", page, checked)
		}
	}
}

// The checks above find a planted name.
func TestNamesPlanted(t *testing.T) {
	c := project(t)
	for _, sound := range []string{
		"`predict.Predictor.Ask`", "`predict.Prediction.Verdict`", "`plan.Build()`", "`pkg/predict/ask.go`", "`Taken`", "`metadata.name`", "`settle`", "`cluster/answer`", "`delete`",
		"```calls\napply.Engine.phase\n  apply.Engine.resolve\n  apply.Engine.read\n    cluster.Client.Live\n  apply.Engine.ask\n```\n",
	} {
		if _, err := c.checkNames(sound); err != nil {
			t.Errorf("%s is sound: %v", sound, err)
		}
	}
	for fault, want := range map[string]string{
		"`predict.Predictor.AskNicely`":  "pkg/predict declares no Predictor.AskNicely",
		"`predict.Evaluate`":             "pkg/predict declares no Evaluate",
		"`delete.Engine.Run`":            "there is no package delete",
		"`pkg/tracker/hints.go`":         "file does not exist",
		"`spelling`":                     "no such package",
		"`TakenNot`":                     "no package declares it",
		"`predict.Predictor.Ask.Nicely`": "declares no",
		"```calls\napply.Engine.phase\n  apply.Engine.glance\n```\n":                      "declares no Engine.glance",
		"```calls\napply.Engine.phase\n  apply.Engine.send\n```\n":                        "apply.Engine.phase does not call apply.Engine.send",
		"```calls\napply.Engine.phase\n  apply.Engine.ask\n  apply.Engine.resolve\n```\n": "earlier than the block says",
		"```calls\napply.Engine.phase\n  plan.Build\n```\n":                               "apply.Engine.phase does not call plan.Build",
	} {
		if _, err := c.checkNames(fault); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want a fault with %q, got: %v", fault, want, err)
		}
	}
}

// The links in comments lead somewhere.
func TestCommentLinks(t *testing.T) {
	checked, err := project(t).checkLinks()
	if err != nil {
		t.Error(err)
	}
	if checked < 30 {
		t.Errorf("only %d links were found", checked)
	}
}

// testFunc is the declaration of a test.
var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// What any page mentions is there: a path of the project, a test, an exported name with
// its package.
func TestMentions(t *testing.T) {
	c := project(t)
	tests := map[string]bool{}
	names := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, top := range []string{"docs", "pkg", "cmd", "test"} {
		err := filepath.WalkDir(filepath.Join(root(t), top), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			file, err = filepath.Rel(root(t), file)
			file = filepath.ToSlash(file)
			switch {
			case err != nil:
			case top == "docs" && filepath.Ext(file) == ".md":
				names = append(names, file)
			case strings.HasSuffix(file, "_test.go"):
				for _, m := range testFunc.FindAllStringSubmatch(textOf(t, file), -1) {
					tests[m[1]] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	checked := 0
	for _, name := range names {
		for _, m := range inCode.FindAllStringSubmatch(textOf(t, name), -1) {
			first, rest, _ := strings.Cut(m[1], ".")
			var err error
			switch {
			case path.MatchString(m[1]):
				err = checkPath(root(t), m[1])
			case strings.HasPrefix(m[1], "Test") && capital.MatchString(m[1]) && !tests[m[1]]:
				err = errors.New(m[1] + ": there is no such test")
			case strings.HasPrefix(m[1], "Test") && tests[m[1]]:
			case len(c.folders[first]) > 0 && capital.MatchString(rest):
				err = c.check(m[1])
			default:
				continue
			}
			checked++
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d mentions were found", checked)
	}
}
