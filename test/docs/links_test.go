package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s:]*)\)`)
	inCode  = regexp.MustCompile("`((?:pkg|cmd|test|charts|docs)/[\\w./*-]+)`")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	mark    = regexp.MustCompile(`[^\pL\pN _-]`)
)

// Every link on a page leads to an existing file and heading, and every path that a page names
// exists; VERB stands for any word.
func TestLinks(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(root(t), func(page string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin" || entry.Name() == "dist"):
			return filepath.SkipDir
		case filepath.Ext(page) != ".md":
			return nil
		}
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			checked++
			if strings.HasPrefix(m[1], "../../actions/") { // of the repository, or of a fork
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(page), file)
			if file == "" {
				target = page
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s: %s has no heading #%s", page, target, anchor)
			}
		}
		for _, m := range inCode.FindAllStringSubmatch(string(text), -1) {
			checked++
			found, err := filepath.Glob(filepath.Join(root(t), strings.ReplaceAll(m[1], "VERB", "*")))
			if err != nil || len(found) == 0 {
				t.Errorf("%s: there is no %s (%v)", page, m[1], err)
			}
		}
		return nil
	})
	if err != nil || checked < 300 {
		t.Errorf("checked %d links, want at least 300: %v", checked, err)
	}
}

// anchors returns the anchors of a page's headings, as GitHub generates them.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		all[strings.ReplaceAll(strings.ToLower(mark.ReplaceAllString(m[1], "")), " ", "-")] = true
	}
	return all
}
