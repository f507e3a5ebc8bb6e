package object

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is the place where an object is written.
type Source struct {
	// File is the path as the user gave it, "-" for standard input, or a URL without
	// what may be a password or a signature in it.
	File string
	// Line is the first line of the object, from 1; 0 without lines (the output of a
	// kustomization).
	Line int
}

// String returns file:line, or only the file if the line is unknown.
func (s Source) String() string {
	if s.Line == 0 {
		return s.File
	}
	return s.File + ":" + strconv.Itoa(s.Line)
}

// Manifest is one object as its author wrote it, and where. The object has no
// default, no namespace and nothing of the server's added.
type Manifest struct {
	Object *unstructured.Unstructured
	Source Source
}

// Ref returns the reference of the object, with its namespace as it is written.
func (m Manifest) Ref() Ref { return RefOf(m.Object) }
