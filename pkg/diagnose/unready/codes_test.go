package unready_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// listed returns the codes in doc.go.
func listed(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "# Codes")
	return regexp.MustCompile(`\b[A-Z]+[a-z]*(?:[A-Z]+[a-z]+)+\b|\b(?:Paused|Suspended|Starting|Stalled|Terminating|Reconciling|Unschedulable|Unreadable)\b`).FindAllString(list, -1)
}

// Every listed code has a story and an example in docs/unready.md. The stories check that their
// codes are listed.
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
	docs, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "unready.md"))
	if err != nil {
		t.Fatal(err)
	}
	codes := listed(t)
	for _, code := range codes {
		if !strings.Contains(stories.String(), `"`+code+": ") {
			t.Errorf("%s: no story has it", code)
		}
		if !strings.Contains(string(docs), "| "+code+" |") {
			t.Errorf("%s is not in docs/unready.md", code)
		}
	}
}
