// Package manifest reads files, folders, URLs, standard input and kustomizations into objects with
// their file and line. Start with [Read]. Values are decoded as in kubectl (YAML 1.1). The package
// reports every fault of every document. It does not use kinds, scopes or schemas.
package manifest

import (
	"io"
	"net/http"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options say what to read. They work like kubectl's flags of the same names.
type Options struct {
	// Filenames are files, folders, glob patterns, http and https URLs, and "-" for standard input.
	// In a folder, the .yaml, .yml and .json files are read, in lexical order. A file that the user
	// names may have any extension.
	Filenames []string
	// Recursive also reads subfolders. Links to folders are not followed.
	Recursive bool
	// Kustomize is the folder or URL of a kustomization. It cannot be combined with Filenames and
	// Recursive.
	Kustomize string
	// Selector is a label selector for the objects to keep; empty keeps all objects.
	Selector string
	// SkipNonObjects skips files without a Kubernetes object and lists them in [Result].Skipped;
	// otherwise such a file is an error. A file with an object, even an invalid one, is never
	// skipped.
	SkipNonObjects bool
	// SkipInvalid leaves faults in the content out of the error. Names that cannot be read are
	// still an error.
	SkipInvalid bool
	// Empty allows input without objects.
	Empty bool
	// AsIs keeps the fields that a server has set, such as status. It is for objects that will not
	// be written.
	AsIs bool
	// Unnamed accepts objects that have a generateName instead of a name, like kubectl create.
	Unnamed bool
	Hooks   Hooks
	In      io.Reader
	// Secrets learns the values of Secrets in the input, so that messages do not quote these
	// values; it may be nil.
	Secrets Secrets
	// Client fetches URLs; nil means a client with a timeout of a minute.
	Client *http.Client
	// Tell is called when an input blocks. what is the name of the input, since is the start of its
	// silence, and within is the longest wait. Tell may be nil.
	Tell func(what string, since time.Time, within time.Duration)
}

// Result is what was read.
type Result struct {
	// Objects are in the order of Filenames, and within a file in the order of its text.
	Objects []object.Manifest
	// Skipped are the files without an object, if [Options].SkipNonObjects is set.
	Skipped []Skipped
	// Invalid are the faults of content that is not in Objects, one line each.
	Invalid []error
	// Unselected are the objects that the selector does not match.
	Unselected []object.Ref
	Hooks      []Hook
	Warnings   []Warning
}

// Skipped is a file without a Kubernetes object.
type Skipped struct {
	Source object.Source
	Reason string
}

// Warning is about an object that can be used despite the warning.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	Text   string
}

// Secrets keeps the values of Secrets out of messages.
type Secrets interface {
	// Learn learns the names of an object, and its values if it is a Secret.
	Learn(object map[string]any)
	// File learns a file name, which is never masked.
	File(path string)
	Add(value string)
	Text(text string) string
}

type noSecrets struct{}

func (noSecrets) Learn(map[string]any) {}

func (noSecrets) File(string) {}

func (noSecrets) Add(string) {}

func (noSecrets) Text(text string) string { return text }
