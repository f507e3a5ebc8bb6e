package manifest

import (
	"os"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Locate finds a field of an object in the file that the object was read from: its place
// and, for an unquoted scalar, its spelling there. steps are keys and positions from the
// top of the object. If the file is gone, or the input has no lines, Locate returns the
// source as it was.
func Locate(at object.Source, steps []any) (object.Source, string) {
	info, err := os.Stat(at.File)
	if at.Line == 0 || err != nil || !info.Mode().IsRegular() {
		return at, ""
	}
	raw, err := os.ReadFile(at.File)
	if err != nil {
		return at, ""
	}
	text, err := toUTF8(at.File, raw)
	if err != nil {
		return at, ""
	}
	var d *yamldoc.Document
	for _, candidate := range yamldoc.Split(at.File, text) {
		if candidate.Line <= at.Line {
			d = candidate
		}
	}
	if d == nil {
		return at, ""
	}
	return d.Find(at, steps)
}
