// Package manifest reads files, folders, URLs, standard input and kustomizations into objects,
// each with file and line. Start with [Read]. Values are those of kubectl (YAML 1.1). Every fault
// of every document is reported, and any fault fails the whole unless the caller skips invalid
// objects. It knows no kinds, scopes or schemas.
package manifest

import (
	"io"
	"net/http"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options say what to read. They mean what kubectl's flags of the same names
// mean.
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
	// SkipNonObjects lists files that hold no Kubernetes object in [Result].Skipped,
	// where they are errors otherwise. A file that holds an object, even a broken one,
	// is never skipped.
	SkipNonObjects bool
	// SkipInvalid leaves faults in the content out of the error. A name that cannot be
	// read stays an error.
	SkipInvalid bool
	// Empty lets an input be without a single object: for who means to have none.
	Empty bool
	// AsIs leaves objects as a server returned them, with what only it can have written:
	// their status, for one. They are for looking at, not for writing.
	AsIs bool
	// Hooks says what to do with Helm's hooks.
	Hooks Hooks
	// In is standard input.
	In io.Reader
	// Secrets learns the values of the input's Secrets, so that no message quotes
	// them; it may be nil.
	Secrets Secrets
	// Client fetches URLs; nil stands for one that gives up on a request after a
	// minute.
	Client *http.Client
	// Tell is called for an input that blocks: with its name, since when it has been
	// silent, and the longest wait. It may be nil.
	Tell func(what string, since time.Time, within time.Duration)
}

// Result is what was read.
type Result struct {
	// Objects are in the order in which they were named and written.
	Objects []object.Manifest
	// Skipped are the files that hold no object, with [Options].SkipNonObjects.
	Skipped []Skipped
	// Invalid lists the faults of content that is not among the Objects, one line
	// each.
	Invalid []error
	// Unselected are the objects that the selector left out.
	Unselected []object.Ref
	// Hooks are Helm's hooks that were left out.
	Hooks []Hook
	// Warnings name what was left out of objects.
	Warnings []Warning
}

// Skipped is a file that holds no Kubernetes object.
type Skipped struct {
	Source object.Source
	// Reason says what the file is instead, such as "a kustomization".
	Reason string
}

// Warning is something the author of an object should know, although the object is
// usable.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	// Text is one line; it names neither Ref nor Source.
	Text string
}

// Secrets keeps the values of Secrets out of messages.
type Secrets interface {
	// Learn takes the names of an object, and its values if it is a Secret.
	Learn(object map[string]any)
	// File takes the name of a file, which stays in messages.
	File(path string)
	// Add takes one value.
	Add(value string)
	// Text masks the known values in a text.
	Text(text string) string
}

// noSecrets serves callers that do not care.
type noSecrets struct{}

func (noSecrets) Learn(map[string]any) {}

func (noSecrets) File(string) {}

func (noSecrets) Add(string) {}

func (noSecrets) Text(text string) string { return text }
