package manifest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

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

// Read reads everything that the options name.
//
// The error joins one error of one line for each fault: first those of names that
// cannot be read, then those of the content, in order. Many have a Hint() string. With
// an error, Objects holds the sound objects, for callers that look for further faults
// in them; Skipped and Warnings may be shown. An input without a single object is an
// error too.
//
// When ctx ends, Read returns at once, even while standard input or a kustomization is
// silent; the goroutine that reads it ends with the process. Otherwise it waits three
// minutes for a URL, and until five minutes of silence for the other inputs.
func Read(ctx context.Context, o Options) (Result, error) {
	selector, err := labels.Parse(o.Selector)
	if err != nil {
		return Result{}, &inputError{where: "-l " + o.Selector, text: err.Error()}
	}
	if o.Secrets == nil {
		o.Secrets = noSecrets{}
	}
	inputs, expandErr := expand(o)
	files, decodeErr := decode(ctx, inputs, o.Secrets, o.AsIs)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	s := filter{selector: selector, skip: o.SkipNonObjects, hooks: o.Hooks}
	var faults []error
	for _, f := range files {
		faults = append(faults, s.add(f)...)
	}
	s.Invalid = faults
	unread := errors.Join(expandErr, decodeErr)
	if !o.SkipInvalid {
		unread = errors.Join(append([]error{unread}, faults...)...)
	}
	if unread != nil {
		return s.Result, unread
	}
	if len(s.Objects) == 0 && len(s.Hooks) > 0 {
		return s.Result, errors.Join(append(s.Invalid, onlyHooks(s.Hooks))...)
	}
	if len(s.Objects) == 0 && s.unmatched > 0 {
		return s.Result, &inputError{where: "-l " + o.Selector, text: "no object in the input matches"}
	}
	if len(s.Objects) == 0 {
		return s.Result, errors.Join(append(s.Invalid, &inputError{text: "no Kubernetes object in the input"})...)
	}
	return s.Result, nil
}

// decode reads the inputs one after the other and decodes their documents in parallel.
// It returns the outcomes of each input, in order.
func decode(ctx context.Context, inputs []input, secrets Secrets, asIs bool) ([][]*outcome, error) {
	var (
		files   = make([][]*outcome, 0, len(inputs))
		faults  []error
		workers errgroup.Group
		aliases = &aliases{}
	)
	// The limit also keeps reading from running ahead of decoding, which bounds how
	// many texts are held.
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for _, in := range inputs {
		if ctx.Err() != nil {
			break
		}
		text, err := in.text(ctx)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		var outcomes []*outcome
		for _, d := range split(in.name, text) {
			if in.generated {
				d.line = 0
			}
			d.aliases, d.asIs = aliases, asIs
			o := new(outcome)
			outcomes = append(outcomes, o)
			workers.Go(func() error {
				*o = d.outcome(secrets)
				return nil
			})
		}
		files = append(files, outcomes)
	}
	return files, errors.Join(errors.Join(faults...), workers.Wait())
}

// filter collects the objects that were asked for.
type filter struct {
	Result
	selector  labels.Selector
	skip      bool
	hooks     Hooks
	unmatched int
}

// add takes over the documents of one file and returns its faults.
func (s *filter) add(file []*outcome) []error {
	var foreign []*outcome
	holdsObject := false
	for _, o := range file {
		if o.foreign != "" {
			foreign = append(foreign, o)
		}
		holdsObject = holdsObject || o.holdsObject
	}
	if len(foreign) > 0 && !holdsObject {
		// The file is something else altogether: report one line, not one for each
		// document.
		if s.skip {
			s.Skipped = append(s.Skipped, Skipped{Source: foreign[0].source, Reason: foreign[0].foreign})
			return nil
		}
		return []error{foreign[0].noObject("--skip-non-objects leaves such files out")}
	}
	var faults []error
	for _, o := range file {
		if o.foreign != "" {
			faults = append(faults, o.noObject(""))
		}
		faults = append(faults, o.faults...)
		for _, f := range o.objects {
			if err := s.keep(f); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return faults
}

func (s *filter) keep(f found) error {
	if !s.selector.Empty() && !s.selector.Matches(labelsOf(f.Object)) {
		s.unmatched++
		return nil
	}
	if keep, fault := s.sift(f.Manifest); !keep {
		return fault
	}
	s.Objects = append(s.Objects, f.Manifest)
	if f.warning != "" {
		s.Warnings = append(s.Warnings, Warning{
			Ref: object.RefOf(f.Object), Source: f.Source, Text: f.warning,
		})
	}
	return nil
}
