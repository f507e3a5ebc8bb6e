package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// pageShort is what a reader finishes, and pageRuns has all rows.
	pageShort, pageRuns = "performance.md", "performance-runs.md"
	growthImage         = "images/growth.svg"
)

// pages writes what was measured into the pages of a folder: each part between the marks
// of its name, wherever they are. What was not measured stays as it is.
func (r *results) pages(dir string) error {
	parts := map[string]func(io.Writer){}
	switch {
	case r.Peers:
		parts["peers"], parts["peers, all rows"] = r.ahead, r.rows
	case len(r.growth()) > 0 && r.Growth:
		parts["growth"] = func(out io.Writer) {
			fmt.Fprintf(out, "\n![Seconds and memory from 100 to 100,000 ConfigMaps](%s)\n\n", growthImage)
			r.growthTable(out)
		}
		parts["growth, targets"], parts["growth, all rows"] = r.targets, r.rows
		if err := os.WriteFile(filepath.Join(dir, growthImage), []byte(growthPicture(growthCounts(), r.growth())), 0o644); err != nil {
			return err
		}
	default:
		parts["summary"], parts["targets"], parts["all rows"] = r.summary, r.targets, r.rows
	}
	missing := map[string]bool{}
	for name := range parts {
		missing[name] = true
	}
	for _, page := range []string{pageShort, pageRuns} {
		path := filepath.Join(dir, page)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			write := parts[name]
			var out bytes.Buffer
			r.when(&out)
			write(&out)
			if filled, ok := fill(string(text), name, out.String()); ok {
				text = []byte(filled)
				delete(missing, name)
			}
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no page has a place for: %s", strings.Join(slices.Sorted(maps.Keys(missing)), "; "))
	}
	return nil
}

// fill puts content between the marks of a name, and reports whether they are there.
func fill(text, name, content string) (string, bool) {
	begin, end := fmt.Sprintf("<!-- measured: %s -->\n", name), "<!-- end of measured -->"
	before, rest, ok := strings.Cut(text, begin)
	if !ok {
		return text, false
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return text, false
	}
	return before + begin + "\n" + strings.TrimSpace(content) + "\n\n" + end + after, true
}
