package manifest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// reading is how an input is read.
type reading struct {
	secrets  Secrets
	selector labels.Selector
	// asIs: keep what a server wrote.
	asIs bool
	// unnamed: a generateName is name enough.
	unnamed bool
}

// found is an object with its warning, and how filters see it.
type found struct {
	object.Manifest
	warning string
	// unmatched: the selector does not match it.
	unmatched bool
	// hook is set if it is a hook.
	hook *Hook
}

// reader extracts the objects of one document.
type reader struct {
	*yamldoc.Document
	*reading
	// subject names the current object, as far as its name is known.
	subject string
	found   []found
	faults  []error
}

func (r *reader) fault(path []any, text, hint string) {
	r.faults = append(r.faults, &object.FaultError{Source: r.SourceOf(path), Subject: r.subject, Text: text, Advice: hint})
}

// under returns the path extended by steps, in an array of its own.
func under(path []any, steps ...any) []any {
	return append(slices.Clip(path), steps...)
}

// typeName names the type of a value in the words of a message.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	}
	return "a mapping"
}

// Locate finds a field of an object in its file: the place and, for an unquoted scalar, its
// spelling. steps are keys and positions from the top of the object. If the file is gone, or the
// input has no lines, Locate returns the source unchanged.
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

// Read reads everything that the options name.
//
// The error joins one error of one line for each fault: first names that cannot be read, then
// faults of the content, in order. Many have a Hint() string. With an error, Objects holds the
// valid objects, for callers that look for further faults; Skipped and Warnings may be shown. An
// input without objects is an error too, unless Empty is set.
//
// When ctx ends, Read returns at once, even while standard input or a kustomization is silent; the
// goroutine that reads it ends with the process. Otherwise it waits three minutes for a URL, and
// until five minutes of silence for other inputs.
func Read(ctx context.Context, o Options) (Result, error) {
	selector, err := labels.Parse(o.Selector)
	if err != nil {
		return Result{}, &inputError{where: "-l " + o.Selector, text: err.Error()}
	}
	if o.Secrets == nil {
		o.Secrets = noSecrets{}
	}
	inputs, expandErr := expand(o)
	files, decodeErr := decode(ctx, inputs, &reading{secrets: o.Secrets, selector: selector, asIs: o.AsIs, unnamed: o.Unnamed})
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	s := filter{skip: o.SkipNonObjects, hooks: o.Hooks}
	var faults []error
	for i, f := range files {
		faults = append(faults, s.add(f)...)
		files[i] = nil // The result has its objects now.
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
	if len(s.Objects) == 0 && len(s.Unselected) > 0 {
		return s.Result, &inputError{where: "-l " + o.Selector, text: "no object in the input matches"}
	}
	if len(s.Objects) == 0 && !o.Empty {
		return s.Result, errors.Join(append(s.Invalid, &inputError{text: "no Kubernetes object in the input"})...)
	}
	return s.Result, nil
}

// decode reads the inputs one after the other and decodes their documents concurrently. It returns
// the outcomes of each input, in order.
func decode(ctx context.Context, inputs []input, how *reading) ([][]*outcome, error) {
	var (
		files   = make([][]*outcome, 0, len(inputs))
		faults  []error
		workers errgroup.Group
		aliases = &yamldoc.Aliases{}
	)
	// The limit also keeps reading from running ahead of decoding, which bounds the texts in
	// memory.
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, in := range inputs {
		if ctx.Err() != nil {
			break
		}
		how.secrets.File(in.name)
		docs, err := in.documents(ctx)
		inputs[i] = input{} // Its documents have the text.
		if err != nil {
			faults = append(faults, err)
			continue
		}
		var outcomes []*outcome
		for _, d := range docs {
			d.Aliases = aliases
			o := new(outcome)
			outcomes = append(outcomes, o)
			workers.Go(func() error {
				*o = outcomeOf(d, how)
				return nil
			})
		}
		files = append(files, outcomes)
	}
	return files, errors.Join(errors.Join(faults...), workers.Wait())
}

// inputError is a fault of a whole input: which one, what is wrong, and the remedy. Faults at
// places in it are of package yamldoc.
type inputError struct {
	where string
	text  string
	hint  string
	err   error
}

func (e *inputError) Error() string {
	text := e.text
	if e.err != nil {
		text += e.err.Error()
	}
	if e.where == "" {
		return text
	}
	return e.where + ": " + text
}

func (e *inputError) Hint() string { return e.hint }

func (e *inputError) Unwrap() error { return e.err }

// unreadable is the fault of a whole input. The operating system's error repeats the file, so only
// its cause is kept.
func unreadable(name string, err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = onPath.Err
	}
	return &inputError{where: name, err: err}
}
