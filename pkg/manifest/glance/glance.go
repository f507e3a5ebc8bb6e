package glance

import (
	"bytes"
	"strings"
)

// Head is what identifies an object, as it is written.
type Head struct {
	APIVersion, Kind, Name, Namespace string
}

// head is an object of which some lines were seen.
type head struct {
	Head

	column int // of its keys
	meta   int // column of the keys of its metadata; 0 outside of it, -1 where that begins
}

// take takes a line of the object.
func (h *head) take(column int, line []byte) {
	if column <= h.column {
		h.meta = 0
	}
	key, value, ok := keyAndText(line)
	switch {
	case !ok:
	case column == h.column && key == "metadata" && value == "":
		h.meta = -1
	case column == h.column && key == "apiVersion":
		h.APIVersion = value
	case column == h.column && key == "kind":
		h.Kind = value
	case h.meta == -1, column == h.meta && column > h.column:
		h.meta = column
		switch key {
		case "name":
			h.Name = value
		case "namespace":
			h.Namespace = value
		}
	}
}

// isWhole reports whether it identifies an object.
func (h *head) isWhole() bool { return h.APIVersion != "" && h.Kind != "" && h.Name != "" }

// Heads returns the heads of the objects of one document in block style: one, or those of a
// list's items. It lacks what is written in flow style or JSON, and values that are more than
// plain texts.
func Heads(text []byte) []Head {
	var (
		top, item head
		found     []Head
		listed    bool // the line is below a list's items
	)
	end := func(h *head) {
		if h.isWhole() {
			found = append(found, h.Head)
		}
	}
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " ")
		column := len(line) - len(rest)
		switch {
		case isInsignificant(rest):
			continue
		case listed && rest[0] == '-' && (item.column == 0 || column == item.column-len("- ")):
			end(&item)
			item = head{column: column + len("- ")}
			column, rest = item.column, bytes.TrimLeft(rest[1:], " ")
			item.take(column, rest)
			continue
		case listed && column > 0:
			item.take(column, rest)
			continue
		}
		if listed = column == 0 && bytes.HasPrefix(rest, []byte("items:")); !listed {
			top.take(column, rest)
		}
		if column == 0 && top.isWhole() && top.meta == 0 {
			break // What follows is the rest of the object.
		}
	}
	end(&item)
	end(&top)
	return found
}

// isInsignificant reports whether a line is blank or a comment.
func isInsignificant(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}

// keyAndText returns the key of a line in block style, and the text after it without quotes
// and comment. It is not ok if there is no key, or if the value is more than a plain text.
func keyAndText(line []byte) (key, value string, ok bool) {
	before, after, found := bytes.Cut(line, []byte(":"))
	blank := len(bytes.TrimSpace(after)) == 0
	if !found || bytes.ContainsAny(before, " \t\"'") || !blank && after[0] != ' ' && after[0] != '\t' {
		return "", "", false
	}
	value, _, _ = strings.Cut(" "+strings.TrimSpace(string(after)), " #")
	value = strings.TrimSpace(value)
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return string(before), value, !strings.ContainsAny(value, "\"'\\{}[]&*!|>%@`")
}
