package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostCircular is how many arrows between the files of a package may lie on circles: where
// two ideas need each other, a reader would not thank us for hiding that.
const mostCircular = 6

// Within a room the files name their ideas, and what a file needs does not need that file:
// an arrow goes from a file to each file whose functions, types, methods, variables or
// constants it uses.
func TestFilesNeedNoCircles(t *testing.T) {
	if testing.Short() {
		t.Skip("it checks the types of all packages, which takes as long as the other tests here together")
	}
	packages := listed(t)
	for folder, g := range packages {
		circular := g.circular()
		if len(circular) > mostCircular {
			t.Errorf("%s: %d arrows between its files lie on circles, at most %d may. Move what both sides need below both:\n\t%s",
				folder, len(circular), mostCircular, strings.Join(circular, "\n\t"))
		}
	}
	if len(packages) < 40 {
		t.Errorf("%d packages were found, which is too few to be all", len(packages))
	}
}

// mostFiles is how many files a room may have, its tests not counted: as many as a reader
// takes in at one glance.
const mostFiles = 22

// A room is divided before it has more files than that; what the tests stand on, too.
func TestRoomsAreSmall(t *testing.T) {
	files := map[string]int{}
	for _, under := range []string{"cmd", "pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(root(t), under), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				files[filepath.Dir(path)]++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for folder, n := range files {
		if n > mostFiles {
			t.Errorf("%s has %d files, and at most %d are taken in at one glance. Give an idea that stands alone a room of its own", folder, n, mostFiles)
		}
	}
	if len(files) < 60 {
		t.Errorf("%d rooms were found, which is too few to be all", len(files))
	}
}

// The check finds a planted circle.
func TestFilesNeedNoCirclesPlanted(t *testing.T) {
	check := func(sources map[string]string) []string {
		files := token.NewFileSet()
		var parsed []*ast.File
		for name, source := range sources {
			file, err := parser.ParseFile(files, name, "package planted\n"+source, 0)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		g, err := graphOf("planted", files, parsed, nil)
		if err != nil {
			t.Fatal(err)
		}
		return g.circular()
	}
	up := map[string]string{"a.go": "func a() { b() }", "b.go": "type t int\nfunc b() { c() }", "c.go": "func c() {}"}
	if found := check(up); len(found) > 0 {
		t.Errorf("no circle, but found %s", found)
	}
	up["c.go"] = "func c() { a() }\nfunc (t) m() {}"
	if found := check(up); !slices.Equal(found, []string{"a.go → b.go", "b.go → c.go", "c.go → a.go", "c.go → b.go"}) {
		t.Errorf("a circle of three files, but found %s", found)
	}
}

// arrows are the files that each file of a package needs.
type arrows map[string]map[string]bool

// circular returns the arrows that lie on circles, sorted.
func (g arrows) circular() []string {
	var out []string
	for from, needs := range g {
		for to := range needs {
			if g.leads(to, from, map[string]bool{}) {
				out = append(out, from+" → "+to)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (g arrows) leads(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for next := range g[from] {
		if !seen[next] && g.leads(next, to, seen) {
			return true
		}
	}
	return false
}

// listed returns the arrows of each package in pkg, by its folder.
func listed(t *testing.T) map[string]arrows {
	t.Helper()
	command := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./pkg/...")
	command.Dir = root(t)
	var failed bytes.Buffer
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &failed)
	}
	type listing struct {
		Dir, ImportPath, Export string
		GoFiles                 []string
	}
	exports := map[string]string{}
	var ours []listing
	for all := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listing
		if err := all.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module+"pkg/") {
			ours = append(ours, p)
		}
	}
	files := token.NewFileSet()
	imported := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	found := map[string]arrows{}
	for _, p := range ours {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		g, err := graphOf(p.ImportPath, files, parsed, imported)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(p.ImportPath, module)] = g
	}
	return found
}

func graphOf(path string, files *token.FileSet, parsed []*ast.File, imported types.Importer) (arrows, error) {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := (&types.Config{Importer: imported}).Check(path, files, parsed, &info)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", path, err)
	}
	fileOf := func(at token.Pos) string { return filepath.Base(files.Position(at).Filename) }
	g := arrows{}
	for used, o := range info.Uses {
		if o.Pkg() != checked {
			continue
		}
		if f, isFunc := o.(*types.Func); isFunc {
			o = f.Origin()
		} else if o.Parent() != checked.Scope() {
			continue // A field, or something within a function.
		}
		from, to := fileOf(used.Pos()), fileOf(o.Pos())
		if from == to {
			continue
		}
		if g[from] == nil {
			g[from] = map[string]bool{}
		}
		g[from][to] = true
	}
	return g, nil
}
