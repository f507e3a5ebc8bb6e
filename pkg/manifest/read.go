package manifest

import (
	"context"
	"errors"
	"io/fs"
	"runtime"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
)

// Read reads everything that the options name.
//
// The error joins one error of one line for each fault: first those of names that
// cannot be read, then those of the content, in order. Many have a Hint() string. With
// an error, Objects holds the sound objects, for callers that look for further faults
// in them; Skipped and Warnings may be shown. An input without a single object is an
// error too, unless it may be empty.
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
	files, decodeErr := decode(ctx, inputs, &reading{secrets: o.Secrets, selector: selector, asIs: o.AsIs})
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

// decode reads the inputs one after the other and decodes their documents in parallel.
// It returns the outcomes of each input, in order.
func decode(ctx context.Context, inputs []input, how *reading) ([][]*outcome, error) {
	var (
		files   = make([][]*outcome, 0, len(inputs))
		faults  []error
		workers errgroup.Group
		aliases = &yamldoc.Aliases{}
	)
	// The limit also keeps reading from running ahead of decoding, which bounds how
	// many texts are held.
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, in := range inputs {
		if ctx.Err() != nil {
			break
		}
		how.secrets.File(in.name)
		docs, err := in.documents(ctx)
		inputs[i] = input{} // Its text goes with its documents.
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

// inputError is one fault of an input as a whole: which it is, what is wrong with it, and how
// to correct it. Faults of places in it are of package yamldoc.
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

// Hint says what to do about it; it may be empty.
func (e *inputError) Hint() string { return e.hint }

func (e *inputError) Unwrap() error { return e.err }

// unreadable is the fault of a whole input. The operating system's error names the
// file a second time, so only its cause is kept.
func unreadable(name string, err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = onPath.Err
	}
	return &inputError{where: name, err: err}
}
