package command_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/test/commandtest"
)

func TestFill(t *testing.T) {
	text := "see: " + command.Kubectl("k8sconnect", "stuck") + " a/b | " + command.KubectlAs("auth", "can-i") + " get x --as=y"
	for want, flags := range map[string]command.Flags{
		"see: kubectl k8sconnect stuck a/b | kubectl auth can-i get x --as=y": {},
		"see: kubectl k8sconnect stuck --context='a b' --as=o a/b | kubectl auth can-i --context='a b' get x --as=y": {
			Cluster: []string{"--context=a b"}, As: []string{"--as=o"},
		},
		"see: kubectl k8sconnect stuck --expect-cluster=1 a/b | kubectl auth can-i get x --as=y": {Guards: []string{"--expect-cluster=1"}},
	} {
		want = strings.ReplaceAll(want, "--context='a b'", "'--context=a b'")
		if got := command.Fill(text, flags); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	commandtest.Check(t, text)
	if got := command.Fill("nothing to fill", command.Flags{As: []string{"--as=x"}}); got != "nothing to fill" {
		t.Errorf("got %q", got)
	}
}

// prose speaks of kubectl; it is nothing to paste.
var prose = []string{
	"see: kubectl k8sconnect wait", "see: kubectl k8sconnect version", // where flags were not understood
}

// Edge case 92: whoever prints a command makes it with this package, so that it has a slot
// for the flags of the connection. A text that begins one by hand is found in the source.
func TestCommandsAreBuiltWithThisPackage(t *testing.T) {
	byHand := regexp.MustCompile(`(?:^|[Ss]ee: |\(|\| )kubectl (k8sconnect|[a-z]+(-[a-z]+)?)( |$|'|"|\))`)
	verbs := strings.Fields(`annotate api-resources apply auth cluster-info config cordon create delete describe diff
		drain edit events explain get k8sconnect label logs patch replace rollout scale taint top uncordon version wait`)
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		found++
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.KeyValueExpr); ok { // A command's own help.
				if key, ok := field.Key.(*ast.Ident); ok && slices.Contains([]string{"Use", "Short", "Long", "Example", "Annotations"}, key.Name) {
					return false
				}
			}
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			match := byHand.FindStringSubmatch(text)
			if match == nil || !slices.Contains(verbs, match[1]) || slices.ContainsFunc(prose, func(known string) bool { return strings.Contains(text, known) }) {
				return true
			}
			t.Errorf("%s: %q builds a command without this package", files.Position(literal.Pos()), text)
			return true
		})
		return nil
	})
	if err != nil || found < 100 {
		t.Errorf("%d files, %v", found, err)
	}
}
