package stuck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every code is documented for users, with an example.
func TestCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "stuck.md"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		code, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		codes++
		if !strings.Contains(string(page), "| `"+code+"` |") {
			t.Errorf("docs/stuck.md does not tell of %s", code)
		}
		if _, known := Lastings()[code]; !known {
			t.Errorf("nothing says how long %s lasts", code)
		}
		return true
	})
	if codes < 30 {
		t.Errorf("%d codes were found", codes)
	}
}
