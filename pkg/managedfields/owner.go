package managedfields

import (
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Set is the paths that an owner holds.
type Set = fieldpath.Set

// Operations by which an owner came to hold a path.
const (
	Apply  = "Apply"
	Update = "Update"
)

// Owner holds paths of an object: one entry of metadata.managedFields. Two
// entries of one manager that differ in operation or subresource are two
// owners (KEP-555).
type Owner struct {
	Manager     string
	Operation   string
	Subresource string
	// APIVersion is the version at which the owner's paths are written. Paths of
	// two versions can not be compared.
	APIVersion string
	// Time of the owner's last change; zero where the entry has none, as the
	// horizontal pod autoscaler's through /scale.
	Time time.Time
}

// Entry is an owner with the paths that it holds.
type Entry struct {
	Owner
	Fields *Set
}
