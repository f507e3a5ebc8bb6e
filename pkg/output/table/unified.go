package table

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// unified returns the lines of a unified diff of two texts; nil if they are equal. The headers of
// the hunks are written here, because udiff counts the second text's lines wrong after a hunk with
// several edits.
func unified(from, to, before, after string, context int) ([]string, error) {
	text, err := udiff.ToUnified(from, to, before, udiff.Lines(before, after), context)
	if err != nil || text == "" {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	moved := 0 // how many lines the hunks so far have added
	for i, line := range lines {
		var start int
		if _, err := fmt.Sscanf(line, "@@ -%d", &start); err != nil {
			continue
		}
		old, now := lengths(lines[i+1:])
		if old == 0 && start > 0 {
			start++ // An empty side names the line before it.
		}
		lines[i] = fmt.Sprintf("@@ -%s +%s @@", span(start, old), span(max(start, 1)+moved, now))
		moved += now - old
	}
	return lines, nil
}

// lengths counts the lines of the hunk on both sides.
func lengths(hunk []string) (old, now int) {
	for _, line := range hunk {
		switch {
		case strings.HasPrefix(line, "@@ "):
			return old, now
		case strings.HasPrefix(line, "-"):
			old++
		case strings.HasPrefix(line, "+"):
			now++
		case strings.HasPrefix(line, " "):
			old++
			now++
		}
	}
	return old, now
}

// span is one side of a hunk's header, as GNU diff writes it.
func span(start, lines int) string {
	switch lines {
	case 0:
		return fmt.Sprintf("%d,0", max(start-1, 0))
	case 1:
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, lines)
}
