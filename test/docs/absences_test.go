package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// absence matches a claim of a page that something does not exist.
var absence = regexp.MustCompile(`\b(does not|do not|cannot|has no|have no|there is no)\b|^(no|none|not)\b`)

// testdata lists each claim of absence on the front page and on pages that compare. A new feature
// can make such a claim untrue, which no other test notices. A commit that changes a claim or its
// subject has to update the list: go test ./test/docs -run Absences -update.
func TestAbsences(t *testing.T) {
	var claims strings.Builder
	for _, name := range pages(t) {
		if base := filepath.Base(name); base != "README.md" && base != "compared.md" && !strings.HasPrefix(base, "from-") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range paragraphs(t, name, text) {
			for _, claim := range claimsOf(one) {
				claims.WriteString(name + ": " + claim + "\n")
			}
		}
	}
	path := filepath.Join("testdata", "absences.txt")
	if *update {
		if err := os.WriteFile(path, []byte(claims.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []struct{ of, in, message string }{
		{claims.String(), string(listed), "is not in the list"}, {string(listed), claims.String(), "is in the list, and on no page"},
	} {
		known := strings.Split(side.in, "\n")
		for line := range strings.Lines(side.of) {
			if line = strings.TrimSuffix(line, "\n"); !slices.Contains(known, line) {
				t.Errorf("%s %s: if the claim is true, run with -update", line, side.message)
			}
		}
	}
}

// claimsOf returns the sentences of a paragraph, or the rows of a table, that claim an absence.
func claimsOf(paragraph string) []string {
	var claims []string
	if strings.HasPrefix(strings.TrimSpace(paragraph), "|") {
		for row := range strings.Lines(paragraph) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
			for _, cell := range cells[1:] {
				if cell = strings.TrimSpace(cell); absence.MatchString(cell) {
					claims = append(claims, strings.TrimSpace(cells[0])+" | "+cell)
				}
			}
		}
		return claims
	}
	for _, s := range sentence.Split(paragraph, -1) {
		if s = strings.Trim(strings.Join(strings.Fields(s), " "), " *-#"); absence.MatchString(s) {
			claims = append(claims, s)
		}
	}
	return claims
}
