// Package stranger tests the promises of docs/library.md about its packages, from a module that
// only imports them.
package stranger

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const ours = "github.com/k8sconnect/kubectl-k8sconnect"

// promised is a row in the page's table.
type promised struct {
	imports []string
	links   int
}

func table(t *testing.T) map[string]promised {
	t.Helper()
	page, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| \\[`([a-z/]+)`\\]\\(\\.\\./pkg/([a-z/]+)\\) \\|.*\\| ([a-z, -]+) \\| (\\d+) \\|$")
	rows := map[string]promised{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		links, err := strconv.Atoi(m[4])
		if err != nil || m[1] != m[2] {
			t.Fatalf("%q: %v", m[0], err)
		}
		rows[m[1]] = promised{strings.Split(m[3], ", "), links}
	}
	if len(rows) != 8 {
		t.Fatalf("found %d rows, want 8: %v", len(rows), slices.Sorted(maps.Keys(rows)))
	}
	return rows
}

// listed is a package in the output of go list.
type listed struct {
	ImportPath, Dir  string
	Standard         bool
	Module           *struct{ Path string }
	Imports, GoFiles []string
}

// deps lists a package of ours with its dependencies.
func deps(t *testing.T, name string) map[string]listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Dir,Standard,Module,Imports,GoFiles", ours+"/pkg/"+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		found[p.ImportPath] = p
	}
}

// short returns a module's name without its host and major version.
func short(module string) string {
	return path.Base(regexp.MustCompile(`/v\d+$`).ReplaceAllString(module, ""))
}

// The table matches the imported and linked modules.
func TestDependencies(t *testing.T) {
	never := regexp.MustCompile(`^(k8s\.io/(client-go|cli-runtime|apiserver|kubectl)|sigs\.k8s\.io/controller-runtime|github\.com/(google/cel-go|spf13/.*))$`)
	for name, want := range table(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := deps(t, name)
			imported, linked := map[string]bool{}, map[string]bool{}
			for _, p := range found {
				if p.Standard {
					continue
				}
				linked[p.Module.Path] = true
				if never.MatchString(p.Module.Path) {
					t.Errorf("it links %s", p.ImportPath)
				}
				if p.Module.Path != ours {
					continue
				}
				for _, i := range p.Imports {
					if on := found[i]; !on.Standard && on.Module.Path != ours {
						imported[short(on.Module.Path)] = true
					}
				}
			}
			delete(linked, ours)
			if got := slices.Sorted(maps.Keys(imported)); !slices.Equal(got, want.imports) {
				t.Errorf("imports are %s; docs/library.md lists %s", strings.Join(got, ", "), strings.Join(want.imports, ", "))
			}
			if len(linked) != want.links {
				t.Errorf("%d modules are linked; docs/library.md lists %d: %v", len(linked), want.links, slices.Sorted(maps.Keys(linked)))
			}
			if _, links := found["net/http"]; links != (name != "fieldpath") {
				t.Errorf("net/http is linked: %v", links)
			}
		})
	}
}

// No code of ours behind a public package has side effects: no files, environment, programs or
// network. Constants of HTTP are allowed.
func TestNoSideEffects(t *testing.T) {
	outside := []string{"net", "net/http", "os", "os/exec", "os/signal", "syscall", "plugin", "log"}
	call := regexp.MustCompile(`\bhttp\.(\w+)`)
	for name := range table(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checked := 0
			for _, p := range deps(t, name) {
				if p.Standard || p.Module.Path != ours {
					continue
				}
				checked++
				for _, i := range p.Imports {
					if !slices.Contains(outside, i) {
						continue
					}
					if i != "net/http" {
						t.Errorf("%s imports %s", p.ImportPath, i)
						continue
					}
					for _, file := range p.GoFiles {
						text, err := os.ReadFile(filepath.Join(p.Dir, file))
						if err != nil {
							t.Fatal(err)
						}
						for _, m := range call.FindAllStringSubmatch(string(text), -1) {
							if !strings.HasPrefix(m[1], "Status") {
								t.Errorf("%s uses http.%s", filepath.Join(p.Dir, file), m[1])
							}
						}
					}
				}
			}
			if checked == 0 {
				t.Error("none of our packages was found")
			}
		})
	}
}
