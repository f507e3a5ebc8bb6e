package manifest

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// worthGlance is from how much text on decoding takes long enough for something else to be
	// begun meanwhile: some milliseconds.
	worthGlance = 128 << 10
	// mostGlance is how much text is held before any of it is decoded. What is larger has more
	// objects than a caller wants to know early.
	mostGlance = 32 << 20
)

// glanced reports whether the inputs are worth a glance before they are decoded: files that
// are there, and of a size that pays.
func glanced(inputs []input) bool {
	var size int64
	for _, in := range inputs {
		if in.size == 0 {
			return false // It may be silent for minutes.
		}
		size += in.size
	}
	return worthGlance <= size && size <= mostGlance
}

// glance returns what the objects of the documents are probably called, by the lines of texts
// in block style. It lacks what is written in another style. Nothing but speed may depend on
// it.
func glance(docs []*document) []object.Manifest {
	var all []object.Manifest
	for _, d := range docs {
		if isJSON(d.text) {
			continue
		}
		for _, h := range headsOf(d.text) {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetAPIVersion(h.apiVersion)
			u.SetKind(h.kind)
			u.SetName(h.name)
			u.SetNamespace(h.namespace)
			all = append(all, object.Manifest{Object: u, Source: d.source()})
		}
	}
	return all
}

// head is what identifies an object.
type head struct {
	apiVersion, kind, name, namespace string

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
		h.apiVersion = value
	case column == h.column && key == "kind":
		h.kind = value
	case h.meta == -1, column == h.meta && column > h.column:
		h.meta = column
		switch key {
		case "name":
			h.name = value
		case "namespace":
			h.namespace = value
		}
	}
}

// isWhole reports whether it identifies an object.
func (h *head) isWhole() bool { return h.apiVersion != "" && h.kind != "" && h.name != "" }

// headsOf returns the heads of the objects of a document: one, or those of a list's items.
func headsOf(text []byte) []head {
	var (
		top, item head
		found     []head
		listed    bool // the line is below a list's items
	)
	end := func(h *head) {
		if h.isWhole() {
			found = append(found, *h)
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
