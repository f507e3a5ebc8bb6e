// Package manifest reads files, folders, URLs, standard input and kustomizations into objects, each
// with file and line. Start with [Read]. Values are as in kubectl (YAML 1.1). It reports every
// fault of every document, and any fault fails the whole unless the caller skips invalid objects.
// It knows no kinds, scopes or schemas.
package manifest

import (
	"io"
	"net/http"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options say what to read. They mean the same as kubectl's flags of these names.
type Options struct {
	// Filenames are files, folders, glob patterns, http and https URLs, and "-" for
	// standard input. A folder stands for its .yaml, .yml and .json files, in the
	// order of their names; a file named explicitly may have any name.
	Filenames []string
	// Recursive also reads the folders inside folders. Links to folders are not
	// followed.
	Recursive bool
	// Kustomize is a folder with a kustomization, or the URL of one. It excludes
	// Filenames and Recursive.
	Kustomize string
	// Selector keeps the objects whose labels match it; empty keeps all.
	Selector string
	// SkipNonObjects lists files without a Kubernetes object in [Result].Skipped instead of
	// failing. A file with an object, even an invalid one, is never skipped.
	SkipNonObjects bool
	// SkipInvalid leaves faults in the content out of the error. A name that cannot be read is
	// still an error.
	SkipInvalid bool
	// Empty allows an input without objects.
	Empty bool
	// AsIs keeps what a server has written into objects, such as their status: they are for
	// reading, not for writing.
	AsIs bool
	// Unnamed accepts objects with a generateName alone, as kubectl create does.
	Unnamed bool
	// Hooks says what to do with Helm hooks.
	Hooks Hooks
	// In is standard input.
	In io.Reader
	// Secrets learns the values of the input's Secrets, so that no message quotes them; it may be
	// nil.
	Secrets Secrets
	// Client fetches URLs; nil means one that gives up on a request after a minute.
	Client *http.Client
	// Tell is called for an input that blocks: with its name, since when it has been silent, and
	// the longest wait. It may be nil.
	Tell func(what string, since time.Time, within time.Duration)
}

// Result is what was read.
type Result struct {
	// Objects are in the order of the names and of the text.
	Objects []object.Manifest
	// Skipped are the files without an object, with [Options].SkipNonObjects.
	Skipped []Skipped
	// Invalid lists the faults of content that is not in Objects, one line each.
	Invalid []error
	// Unselected are the objects that the selector left out.
	Unselected []object.Ref
	// Hooks are the Helm hooks that were left out.
	Hooks []Hook
	// Warnings name fields that were removed.
	Warnings []Warning
}

// Skipped is a file that holds no Kubernetes object.
type Skipped struct {
	Source object.Source
	// Reason describes the file, such as "a kustomization".
	Reason string
}

// Warning is for the author of an object, which is usable all the same.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	// Text is one line; it names neither Ref nor Source.
	Text string
}

// Secrets keeps the values of Secrets out of messages.
type Secrets interface {
	// Learn learns the names of an object, and its values if it is a Secret.
	Learn(object map[string]any)
	// File learns the name of a file, which stays in messages.
	File(path string)
	// Add learns one value.
	Add(value string)
	// Text masks the known values in a text.
	Text(text string) string
}

// noSecrets masks nothing.
type noSecrets struct{}

func (noSecrets) Learn(map[string]any) {}

func (noSecrets) File(string) {}

func (noSecrets) Add(string) {}

func (noSecrets) Text(text string) string { return text }
