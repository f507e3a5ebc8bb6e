package object

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is the place where an object was written down.
type Source struct {
	// File is the path as the user gave it, "-" for standard input, or a URL without
	// what may be a password or a signature in it.
	File string
	// Line is the first line of the object, from 1; 0 where there are no lines
	// (the output of a kustomization).
	Line int
}

// String returns file:line, or the file alone where no line is known.
func (s Source) String() string {
	if s.Line == 0 {
		return s.File
	}
	return s.File + ":" + strconv.Itoa(s.Line)
}

// Manifest is one object as somebody wrote it down, and where. The object is
// what was written: no default, no namespace, nothing of the server's.
type Manifest struct {
	Object *unstructured.Unstructured
	Source Source
}
