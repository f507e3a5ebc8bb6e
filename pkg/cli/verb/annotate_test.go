package verb

import (
	"path/filepath"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestAnnotations(t *testing.T) {
	const root = "/home/runner/work/shop/shop"
	at := func(file string, line int) object.Source { return object.Source{File: file, Line: line} }
	for name, test := range map[string]struct {
		folder  string
		at      object.Source
		message string
		want    string
	}{
		"a place":                         {root, at("web.yaml", 4), "duplicate key", "::error file=web.yaml,line=4::duplicate key"},
		"a step in a folder":              {root + "/deploy", at("prod/web.yaml", 4), "x", "::error file=deploy/prod/web.yaml,line=4::x"},
		"a file in the parent folder":     {root + "/deploy", at("../web.yaml", 1), "x", "::error file=web.yaml,line=1::x"},
		"an absolute name":                {root, at(root+"/a/web.yaml", 1), "x", "::error file=a/web.yaml,line=1::x"},
		"outside":                         {root, at("/tmp/web.yaml", 1), "x", "::error file=/tmp/web.yaml,line=1::x"},
		"without lines":                   {root, at("overlays/prod", 0), "x", "::error file=overlays/prod::x"},
		"special characters in a message": {root, at("web.yaml", 1), "100% of a:b, c\r\nd", "::error file=web.yaml,line=1::100%25 of a:b, c%0D%0Ad"},
		"special characters in a name":    {root, at("a%b:c,d\n.yaml", 1), "x", "::error file=a%25b%3Ac%2Cd%0A.yaml,line=1::x"},
		"an escape in a name":             {root, at("a%2C.yaml", 1), "x", "::error file=a%252C.yaml,line=1::x"},
		"a command in a message":          {root, at("web.yaml", 1), "x\n::add-mask::web", "::error file=web.yaml,line=1::x%0A::add-mask::web"},
		"standard input":                  {root, at("-", 3), "x", ""},
		"a URL":                           {root, at("https://example.com/web.yaml", 3), "x", ""},
		"no place":                        {root, object.Source{}, "x", ""},
	} {
		env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": root}
		annotate := annotator(func(name string) string { return env[name] }, filepath.FromSlash(test.folder))
		if got := annotate("error", test.at, test.message); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	for _, value := range []string{"", "false", "1"} {
		if annotator(func(string) string { return value }, root) != nil {
			t.Errorf("GITHUB_ACTIONS=%q annotates", value)
		}
	}
	env := map[string]string{"GITHUB_ACTIONS": "true"}
	if got := annotator(func(name string) string { return env[name] }, root)("warning", at("web.yaml", 1), "x"); got != "::warning file="+root+"/web.yaml,line=1::x" {
		t.Errorf("without a workspace: %q", got)
	}
}
