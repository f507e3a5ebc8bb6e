package stranger

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The page names exactly the types of our other packages that signatures mention.
func TestSignatures(t *testing.T) {
	public := []string{"predict/noop", "predict/adopt", "predict/yield", "diagnose/clientgo"}
	public = slices.AppendSeq(public, maps.Keys(table(t)))
	mentioned := map[string]bool{}
	for _, name := range public {
		for what := range mentions(t, filepath.Join("..", "..", "pkg", name)) {
			from, _, _ := strings.Cut(what, ".")
			if !slices.Contains(public, from) {
				mentioned[path.Base(from)+strings.TrimPrefix(what, from)] = true
			}
		}
	}
	page, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(strings.Join(strings.Fields(string(page)), " "), "these types, which appear in their signatures:")
	list, _, found := strings.Cut(rest, ". ")
	if !found {
		t.Fatal("docs/library.md has no list of types")
	}
	var named []string
	for _, m := range regexp.MustCompile("`([a-z]+\\.[A-Z]\\w*)`").FindAllStringSubmatch(list, -1) {
		named = append(named, m[1])
	}
	if got := slices.Sorted(maps.Keys(mentioned)); !slices.Equal(got, named) {
		t.Errorf("signatures mention\n%s\ndocs/library.md names\n%s", strings.Join(got, ", "), strings.Join(named, ", "))
	}
}

// mentions returns the types of our other packages that a folder's exported declarations mention,
// such as plan.Item, by the package's path below pkg.
func mentions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		imported := map[string]string{}
		for _, i := range file.Imports {
			of, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if below, is := strings.CutPrefix(of, ours+"/pkg/"); is {
				imported[path.Base(of)] = below
			}
		}
		ast.FileExports(file) // also drops unexported fields and methods
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is {
				f.Body = nil
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if s, is := n.(*ast.SelectorExpr); is {
					if x, is := s.X.(*ast.Ident); is && imported[x.Name] != "" {
						found[imported[x.Name]+"."+s.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	return found
}

// Arguments are readable at the call, which bools are not.
func TestNoBoolParameters(t *testing.T) {
	public := []string{"predict/noop", "predict/adopt", "predict/yield", "diagnose/clientgo"}
	for _, name := range slices.AppendSeq(public, maps.Keys(table(t))) {
		files, err := filepath.Glob(filepath.Join("..", "..", "pkg", name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.FileExports(parsed)
			for _, d := range parsed.Decls {
				f, is := d.(*ast.FuncDecl)
				if !is || strings.HasSuffix(file, "_test.go") {
					continue
				}
				for _, p := range f.Type.Params.List {
					if id, is := p.Type.(*ast.Ident); is && id.Name == "bool" {
						t.Errorf("%s.%s has a parameter of type bool", name, f.Name.Name)
					}
				}
			}
		}
	}
}

// A user of the library answers three questions in 25 lines: who owns this field, would this apply
// conflict, and is this ready, or why not.
func TestExampleIsShort(t *testing.T) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join("..", "..", "pkg", "diagnose", "clientgo", "example_test.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Name.Name == "Example" {
			body := f.Body.List
			lines := files.Position(body[len(body)-1].End()).Line - files.Position(f.Body.Lbrace).Line
			if lines > 25 {
				t.Errorf("the Example has %d lines, want at most 25", lines)
			}
			return
		}
	}
	t.Error("there is no Example")
}
