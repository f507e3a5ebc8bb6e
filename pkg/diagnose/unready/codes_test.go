package unready_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// listed returns the codes in the tables of docs/unready.md.
func listed(t *testing.T) (codes []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "unready.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-Z][A-Za-z]+) \|`).FindAllStringSubmatch(string(text), -1) {
		codes = append(codes, row[1])
	}
	return codes
}

// Every listed code has a story. The tests of the stories check that each code is listed.
func TestCodes(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var stories strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stories.Write(text)
	}
	for _, code := range listed(t) {
		if !strings.Contains(stories.String(), `"`+code+": ") {
			t.Errorf("%s: no test story produces it", code)
		}
	}
}
