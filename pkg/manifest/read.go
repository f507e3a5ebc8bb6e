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
	// Filenames are files, folders, glob patterns, http and https URLs, and "-"
	// for standard input. Of a folder the .yaml, .yml and .json files are read,
	// in the order of their names; a file that is named itself may have any name.
	Filenames []string
	// Recursive reads the folders inside folders too. Links to folders are not
	// followed.
	Recursive bool
	// Kustomize is a folder with a kustomization, or a URL of one. It excludes
	// Filenames and Recursive.
	Kustomize string
	// Selector keeps the objects whose labels match it; empty keeps all.
	Selector string
	// SkipNonObjects lists files that hold no Kubernetes object in
	// [Result].Skipped, where they otherwise are errors. A file that holds an
	// object, even a broken one, is never skipped.
	SkipNonObjects bool
	// SkipInvalid leaves the faults of what was read out of the error. A name that
	// cannot be read stays an error.
	SkipInvalid bool
	// Hooks says what becomes of Helm's hooks.
	Hooks Hooks
	// In is standard input.
	In io.Reader
	// Secrets is told what the input holds of Secrets, so that nothing that is said of
	// it quotes them; nil if nobody wants to know.
	Secrets Secrets
	// Client fetches URLs; nil stands for one that gives up on a request after a
	// minute.
	Client *http.Client
	// Tell hears of an input that keeps us waiting: what it is, since when nothing
	// came of it, and how long it is waited for at most. It may be nil.
	Tell func(what string, since time.Time, within time.Duration)
}

// Result is what was read.
type Result struct {
	// Objects in the order in which they were named and written.
	Objects []object.Manifest
	// Skipped are the files that hold no object, with [Options].SkipNonObjects.
	Skipped []Skipped
	// Invalid are the faults of what was read and is not among the Objects, one line
	// each.
	Invalid []error
	// Hooks are Helm's hooks that were left out.
	Hooks []Hook
	// Warnings tell what of an object was left out.
	Warnings []Warning
}

// Skipped is a file that holds no Kubernetes object.
type Skipped struct {
	Source object.Source
	// Reason says what it is instead, such as "a kustomization".
	Reason string
}

// Warning is something that the author of an object should know, although the
// object can be used.
type Warning struct {
	Ref    object.Ref
	Source object.Source
	// Text is one line; it names neither Ref nor Source.
	Text string
}

// Read reads everything that the options name.
//
// The error joins one error of one line for each fault: first those of names that
// cannot be read, then those of what was read, in its order. Many have a
// Hint() string. With an error, Objects are those that are sound, for whoever
// looks for further faults among them; Skipped and Warnings may be shown. An input
// without a single object is an error too.
//
// When ctx ends, Read returns at once, even while standard input or a
// kustomization is silent; what reads them ends with the process. Without that, it
// waits three minutes for a URL, and for the others until nothing came for five.
func Read(ctx context.Context, o Options) (Result, error) {
	selector, err := labels.Parse(o.Selector)
	if err != nil {
		return Result{}, &inputError{where: "-l " + o.Selector, text: err.Error()}
	}
	if o.Secrets == nil {
		o.Secrets = noSecrets{}
	}
	inputs, expandErr := expand(o)
	files, decodeErr := decode(ctx, inputs, o.Secrets)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	s := sieve{selector: selector, skip: o.SkipNonObjects, hooks: o.Hooks}
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
		return s.Result, &inputError{where: "-l " + o.Selector, text: "no object of the input has such labels"}
	}
	if len(s.Objects) == 0 {
		return s.Result, errors.Join(append(s.Invalid, &inputError{text: "no Kubernetes object in the input"})...)
	}
	return s.Result, nil
}

// decode reads the inputs one after the other, and decodes their documents side
// by side. It gives the outcomes of each input, in order.
func decode(ctx context.Context, inputs []input, secrets Secrets) ([][]*outcome, error) {
	var (
		files   = make([][]*outcome, 0, len(inputs))
		faults  []error
		workers errgroup.Group
		aliases = &aliases{}
	)
	// The limit also keeps the reading from running ahead of the decoding, and so
	// bounds how many texts are held.
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
			d.aliases = aliases
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

// sieve collects what was asked for.
type sieve struct {
	Result
	selector  labels.Selector
	skip      bool
	hooks     Hooks
	unmatched int
}

// add takes over the documents of one file, and returns its faults.
func (s *sieve) add(file []*outcome) []error {
	var foreign []*outcome
	holdsObject := false
	for _, o := range file {
		if o.foreign != "" {
			foreign = append(foreign, o)
		}
		holdsObject = holdsObject || o.holdsObject
	}
	if len(foreign) > 0 && !holdsObject {
		// The file is something else altogether: one line, not one a document.
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

func (s *sieve) keep(f found) error {
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
