// Package manifest reads files, folders, URLs, standard input and kustomizations into objects with
// their file and line. Start with [Read]. The package decodes like kubectl (YAML 1.1), and reports
// every fault of every document. It never uses kinds, scopes or schemas.
package manifest

import (
	"io"
	"net/http"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options correspond to kubectl's flags of the same names.
type Options struct {
	// Filenames are files, folders, glob patterns, http and https URLs, and "-" for standard input.
	// In a folder, only .yaml, .yml and .json files are read, in lexical order. A file that
	// Filenames lists directly may have any extension.
	Filenames []string
	// Recursive includes subfolders. Links to folders are not followed.
	Recursive bool
	// Kustomize is the folder or URL of a kustomization. It cannot be combined with Filenames or
	// Recursive.
	Kustomize string
	// Selector is a label selector. An empty selector keeps all objects.
	Selector string
	// SkipNonObjects skips files without a Kubernetes object. Otherwise such a file is an error. A
	// file with an invalid object is never skipped.
	SkipNonObjects bool
	// SkipInvalid means that faults in the content are not part of the error. A file or URL that
	// cannot be read is still an error.
	SkipInvalid bool
	Empty       bool
	// AsIs keeps fields that a server has set, such as status. It is for objects that will not be
	// written.
	AsIs bool
	// Lenient accepts keys that kubectl and Helm accept, too: a key that is set twice, whose last value counts,
	// and an unquoted yes or no, which is the key "true" or "false". It is for manifests that another tool
	// has applied.
	Lenient bool
	// Unnamed accepts generateName in place of a name, like kubectl create.
	Unnamed bool
	Hooks   Hooks
	In      io.Reader
	// InName names In in messages and sources; the default is "-".
	InName string
	// Secrets collects the values of Secrets and masks them in messages. It may be nil.
	Secrets Secrets
	// Client fetches URLs; nil means a client with a timeout of one minute.
	Client *http.Client
	// Report is called when an input blocks. The what parameter names the input, the since parameter
	// is the time of its last data, and the within parameter is the longest time without data
	// before the read fails. Tell may be nil.
	Report func(what string, since time.Time, within time.Duration)
}

// Result is everything that was read.
type Result struct {
	// Objects are in the order of Filenames and, within a file, in the order of its text.
	Objects []object.Manifest
	Skipped []Skipped
	// Invalid contains the faults in content that was left out of Objects, each on one line.
	Invalid    []error
	Unselected []object.Ref
	Hooks      []Hook
	Warnings   []Warning
}

// Skipped is a file without a Kubernetes object.
type Skipped struct {
	Source object.Source
	Reason string
}

// Warning concerns an object that can still be used.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	Text   string
}

// Secrets keeps the values of Secrets out of messages.
type Secrets interface {
	// Learn records the names of an object, and its values if it is a Secret.
	Learn(object map[string]any)
	// File records a file name, which is never masked.
	File(path string)
	Add(value string)
	Text(text string) string
}

type noSecrets struct{}

func (noSecrets) Learn(map[string]any) {}

func (noSecrets) File(string) {}

func (noSecrets) Add(string) {}

func (noSecrets) Text(text string) string { return text }
