package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unreported contains the edge cases that no test covers yet, each with the reason.
var unreported = map[int]string{}

var (
	numbered = regexp.MustCompile(`(?m)^(\d+)\. `)
	cited    = regexp.MustCompile(`(?i)\bedge[ -]cases?\s+(?:(?://|#)\s*)?(\d+(?:(?:,\s*|\s+and\s+|,\s+and\s+)\d+)*)`)
	number   = regexp.MustCompile(`\d+`)
)

// Every edge case that code, tests or pages cite is in the list, and a test cites every edge case
// in the list.
func TestEdgeCases(t *testing.T) {
	root := filepath.Join("..", "..")
	list, err := os.ReadFile(filepath.Join(root, "test", "edge-cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]bool{}
	for _, m := range numbered.FindAllStringSubmatch(string(list), -1) {
		known[atoi(m[1])] = true
	}
	reported, citations := map[int]bool{}, 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 || entry.Name() == "bin" || entry.Name() == "dist"):
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".go", ".md", ".txtar", ".yaml"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		isTest := strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata")
		for _, m := range cited.FindAllStringSubmatch(string(text), -1) {
			for _, digits := range number.FindAllString(m[1], -1) {
				n := atoi(digits)
				citations++
				reported[n] = reported[n] || isTest
				if !known[n] {
					t.Errorf("%s cites edge case %d, which test/edge-cases.md does not list", path, n)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range slices.Sorted(maps.Keys(known)) {
		switch why, excused := unreported[n]; {
		case reported[n] && excused:
			t.Errorf("edge case %d has a test: take it out of the list of those without (%s)", n, why)
		case !reported[n] && !excused:
			t.Errorf("no test names edge case %d", n)
		}
	}
	t.Logf("%d edge cases, %d citations", len(known), citations)
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // only digits match
	return n
}
