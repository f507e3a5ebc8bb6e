// Package pages writes what was measured into documentation: each part between the marks
// of its name,
//
//	<!-- measured: NAME -->
//	<!-- end of measured -->
//
// in whichever page has them. A row that was not measured stays as it is.
package pages

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Fill puts the parts into their places in the files. A part without a place is an error;
// the other parts are written all the same.
func Fill(files []string, parts map[string]string) error {
	missing := maps.Clone(parts)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		page := string(text)
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			if filled, ok := fill(page, name, parts[name]); ok {
				page = filled
				delete(missing, name)
			}
		}
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
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
