package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// section returns the text after a heading of a page, up to the next heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		t.Fatalf("there is no heading %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// isRoom reports whether a folder's package is part of the product: neither a test
// package nor a generator.
func isRoom(folder string) bool {
	return !strings.HasSuffix(folder, "test") && !strings.Contains(folder, "/internal/")
}

// The tree of architecture.md has each package of the product, each folder of tests, and
// nothing else; and each package that it calls pure is pure.
func TestTree(t *testing.T) {
	tree := map[string]bool{}
	packages := project(t).packages
	block := fence.FindStringSubmatch(section(t, textOf(t, "docs/design/architecture.md"), "## The rooms"))
	if block == nil {
		t.Fatal("no tree was found")
	}
	for line := range strings.Lines(block[2]) {
		folder, says, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case folder == "" || folder == "#": // between two floors
		case strings.TrimSpace(says) == "":
			t.Errorf("the tree does not say what %s is for", folder)
		default:
			folder = strings.TrimSuffix(folder, "/")
			tree[folder] = true
			if p := packages[folder]; p != nil && strings.HasSuffix(strings.TrimSpace(says), "Pure") {
				for _, fault := range p.impurities() {
					t.Errorf("%s is called pure, and uses %s", folder, fault)
				}
			}
		}
	}
	want := map[string]bool{"charts/k8sconnect": true}
	for folder := range packages {
		if isRoom(folder) {
			want[folder] = true
		}
	}
	tests, err := os.ReadDir(filepath.Join(root(t), "test"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range tests {
		if entry.IsDir() {
			want["test/"+entry.Name()] = true
		}
	}
	for folder := range want {
		if !tree[folder] {
			t.Errorf("the tree of architecture.md lacks %s", folder)
		}
	}
	for folder := range tree {
		info, err := os.Stat(filepath.Join(root(t), folder))
		if err != nil || !info.IsDir() {
			t.Errorf("the tree of architecture.md has %s, which is no folder", folder)
		}
	}
}

var arrow = regexp.MustCompile(`^(\S+) +→ *(.*)$`)

// short is how architecture.md names a package: by its name, but a program by its folder.
func short(folder string) string {
	if strings.HasPrefix(folder, "cmd/") {
		return folder
	}
	return filepath.Base(folder)
}

// architecture.md has exactly the imports of the code, and every import points downwards.
func TestArrows(t *testing.T) {
	imports := map[string][]string{}
	for folder, p := range project(t).packages {
		if !isRoom(folder) {
			continue
		}
		var names []string
		for other := range p.imports {
			names = append(names, short(other))
		}
		slices.Sort(names)
		imports[short(folder)] = names
	}
	block := fence.FindStringSubmatch(section(t, textOf(t, "docs/design/architecture.md"), "## Who imports whom"))
	if block == nil {
		t.Fatal("no arrows were found")
	}
	above := map[string]bool{}
	for line := range strings.Lines(block[2]) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := arrow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Errorf("%q is no arrow", line)
			continue
		}
		names, ok := imports[m[1]]
		switch said := strings.Fields(strings.ReplaceAll(m[2], ",", " ")); {
		case !ok:
			t.Errorf("there is no package %s", m[1])
		case above[m[1]]:
			t.Errorf("%s is there twice", m[1])
		case !slices.Equal(slices.Sorted(slices.Values(said)), names):
			t.Errorf("the page is wrong about %s; write:\n%s → %s", m[1], m[1], strings.Join(names, ", "))
		}
		above[m[1]] = true
		for _, name := range names {
			if above[name] {
				t.Errorf("%s imports %s, which stands above it", m[1], name)
			}
		}
	}
	for name, names := range imports {
		if !above[name] {
			t.Errorf("the page lacks a line; write:\n%s → %s", name, strings.Join(names, ", "))
		}
	}
}

// The linter allows no import that does not exist, so that an import which was removed
// cannot come back unnoticed.
func TestLinterAllowsNoMore(t *testing.T) {
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						Files, Allow []string
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(textOf(t, ".golangci.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	packages := project(t).packages
	checked := 0
	for name, rule := range config.Linters.Settings.Depguard.Rules {
		imported := map[string]bool{}
		for folder, p := range packages {
			if slices.ContainsFunc(rule.Files, func(glob string) bool { return matches(glob, folder) }) {
				maps.Copy(imported, p.imports)
			}
		}
		for _, allowed := range rule.Allow {
			folder, ours := strings.CutPrefix(allowed, module)
			if !ours {
				continue
			}
			checked++
			exact, end := strings.CutSuffix(folder, "$")
			if !slices.ContainsFunc(slices.Collect(maps.Keys(imported)), func(i string) bool {
				return end && i == exact || !end && strings.HasPrefix(i, folder)
			}) {
				t.Errorf("depguard's rule %s allows %s, which nothing there imports", name, exact)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d allowed imports were found", checked)
	}
}

// matches reports whether a glob of the linter's, such as **/pkg/cluster/*/*.go, means
// the Go files of a folder.
func matches(glob, folder string) bool {
	pattern, ok := strings.CutPrefix(strings.TrimSuffix(glob, "/*.go"), "**/")
	if !ok {
		return false
	}
	if below, all := strings.CutSuffix(pattern, "/**"); all {
		return folder == below || strings.HasPrefix(folder, below+"/")
	}
	match, err := filepath.Match(pattern, folder)
	return err == nil && match
}

// CONTRIBUTING names the room for each typical change, by a path that is there.
func TestRooms(t *testing.T) {
	rows := 0
	for line := range strings.Lines(section(t, textOf(t, "CONTRIBUTING.md"), "## Find the room")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.Contains(cells[1], "you want") || strings.HasPrefix(strings.TrimSpace(cells[1]), "---") {
			continue
		}
		rows++
		found := false
		for _, m := range inCode.FindAllStringSubmatch(cells[2], -1) {
			found = found || path.MatchString(m[1])
		}
		if !found {
			t.Errorf("no folder is named for %q", strings.TrimSpace(cells[1]))
		}
		// A path relative to a folder named before, such as `junit.go`.
		folder := ""
		for _, m := range inCode.FindAllStringSubmatch(cells[2], -1) {
			switch text := m[1]; {
			case path.MatchString(text):
				folder = text
				if filepath.Ext(text) != "" {
					folder = filepath.Dir(text)
				}
			case filepath.Ext(text) == ".go":
				if err := checkPath(root(t), folder+"/"+text); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if rows < 10 {
		t.Errorf("%d typical changes have a room, and ten should", rows)
	}
}
