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

type reading struct {
	secrets  Secrets
	selector labels.Selector
	asIs     bool
	unnamed  bool
	lenient  bool
}

type found struct {
	object.Manifest
	warning   string
	unmatched bool
	hook      *Hook
}

type reader struct {
	*yamldoc.Document
	*reading
	subject string
	found   []found
	faults  []error
}

func (r *reader) fault(path []any, text, hint string) {
	r.faults = append(r.faults, &object.FaultError{Source: r.SourceOf(path), Subject: r.subject, Text: text, Advice: hint})
}

func under(path []any, steps ...any) []any {
	return append(slices.Clip(path), steps...)
}

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

// Locate finds a field of an object in the object's file. steps are the keys and positions from the
// top of the object. Locate returns the field's place and, for an unquoted scalar, its spelling. It
// returns the source unchanged if the file is gone or the input has no line numbers.
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
// The error contains one line for each fault. Inputs that cannot be read come first, then faults in
// the content. Many faults have a method Hint() string. Even with an error, Objects contains the
// valid objects, so that callers can find further faults. Input without objects is an error unless
// Empty is set.
//
// If ctx ends, Read returns at once. A blocked read of standard input or a kustomization then
// continues until the process ends. Read waits at most three minutes for a URL. It gives up on any
// other input that has delivered no data for five minutes.
func Read(ctx context.Context, o Options) (Result, error) {
	selector, err := labels.Parse(o.Selector)
	if err != nil {
		return Result{}, &inputError{where: "-l " + o.Selector, text: err.Error()}
	}
	if o.Secrets == nil {
		o.Secrets = noSecrets{}
	}
	inputs, expandErr := expand(o)
	files, decodeErr := decode(ctx, inputs, &reading{secrets: o.Secrets, selector: selector, asIs: o.AsIs, unnamed: o.Unnamed, lenient: o.Lenient})
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	s := filter{skip: o.SkipNonObjects, hooks: o.Hooks}
	var faults []error
	for i, f := range files {
		faults = append(faults, s.add(f)...)
		files[i] = nil // free memory
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

// decode reads inputs one after another and decodes documents concurrently. The outcomes of each
// input are in order.
func decode(ctx context.Context, inputs []input, how *reading) ([][]*outcome, error) {
	var (
		files   = make([][]*outcome, 0, len(inputs))
		faults  []error
		workers errgroup.Group
		aliases = &yamldoc.Aliases{}
	)
	// The limit stops the reader from running far ahead of the decoders, which saves memory.
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, in := range inputs {
		if ctx.Err() != nil {
			break
		}
		how.secrets.File(in.name)
		docs, err := in.documents(ctx)
		inputs[i] = input{} // free memory
		if err != nil {
			faults = append(faults, err)
			continue
		}
		var outcomes []*outcome
		for _, d := range docs {
			d.Aliases, d.Lenient = aliases, how.lenient
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

// inputError is an error about a whole input. An error at a position in an input is an
// [object.FaultError].
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

// The result begins with the name, so the operating system's error must not repeat that name.
func unreadable(name string, err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = onPath.Err
	}
	return &inputError{where: name, err: err}
}
