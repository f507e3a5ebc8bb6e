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

// Every code is documented in docs/stuck.md and has a row in Lastings.
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
			t.Errorf("%s is not in docs/stuck.md", code)
		}
		if _, known := Lastings()[code]; !known {
			t.Errorf("%s is not in Lastings", code)
		}
		return true
	})
	if codes < 30 {
		t.Errorf("%d codes were found", codes)
	}
}
