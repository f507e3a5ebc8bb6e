package completion

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// A shell shows a level at a time, since an object has hundreds of paths; contested paths come
// first and in full, since they are what the user looks for.
func TestNextLevel(t *testing.T) {
	paths := []string{".metadata", ".metadata.name", ".spec", ".spec.replicas", ".spec.template", ".spec.template.spec", `.spec.template.spec.containers[name="a.b"]`, ".specific"}
	contested := []offer{{path: ".spec.replicas", note: "owned by hpa"}}
	usual := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	deeper := usual | cobra.ShellCompDirectiveNoSpace
	for typed, want := range map[string]struct {
		words     []string
		directive cobra.ShellCompDirective
	}{
		"":                      {[]string{"x:.spec.replicas\towned by hpa", "x:.metadata", "x:.spec", "x:.specific"}, deeper},
		".spec":                 {[]string{"x:.spec.replicas\towned by hpa", "x:.spec", "x:.spec.template", "x:.specific"}, deeper},
		".spec.r":               {[]string{"x:.spec.replicas\towned by hpa"}, usual},
		".spec.t":               {[]string{"x:.spec.template"}, deeper},
		".spec.template.spec.c": {[]string{`x:.spec.template.spec.containers[name="a.b"]`}, usual},
		".none":                 {nil, usual},
	} {
		words, directive := nextLevel(contested, paths, "x:", typed)
		if diff := cmp.Diff(want.words, words); diff != "" || directive != want.directive {
			t.Errorf("%q: directive %d, want %d, (-want +got):\n%s", typed, directive, want.directive, diff)
		}
	}
}

func TestLastInList(t *testing.T) {
	for list, want := range map[string][2]string{
		"":                           {"", ""},
		"a":                          {"", "a"},
		"a,":                         {"a,", ""},
		`a:.b[k="x,y",z=1].c`:        {"", `a:.b[k="x,y",z=1].c`},
		`a:.b[k="x,y",z=1].c,d:.e[k`: {`a:.b[k="x,y",z=1].c,`, "d:.e[k"},
	} {
		if before, last := lastInList(list); before != want[0] || last != want[1] {
			t.Errorf("%q: %q, %q", list, before, last)
		}
	}
}

func TestSplitPath(t *testing.T) {
	for typed, want := range map[string][2]string{
		"":                                {"", ""},
		"deploy/w":                        {"", ""},
		"deploy/web:":                     {"deploy/web:", ""},
		"deploy/web:.spec.t":              {"deploy/web:", ".spec.t"},
		".spec":                           {"", ".spec"},
		"clusterrole/system:node:.rules":  {"clusterrole/system:node:", ".rules"},
		`cm/a:.data["b:.c"]`:              {"cm/a:", `.data["b:.c"]`},
		"clusterrole/system:node-proxier": {"", ""},
	} {
		if prefix, path := splitPath(typed); prefix != want[0] || path != want[1] {
			t.Errorf("%q: %q, %q", typed, prefix, path)
		}
	}
}
