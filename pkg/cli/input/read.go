package input

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// errBroken is added after the other errors if the input also contains valid objects.
var errBroken error = &object.HintedError{
	Err:    errors.New("nothing was done: fix the input first"),
	Advice: "--skip-invalid skips invalid objects and processes the rest",
}

// errAllBroken replaces errBroken if --skip-invalid would skip every object.
var errAllBroken = errors.New("nothing was done: fix the input first")

// Read reads the manifests and prints which files were skipped. The error contains every fault that
// can be found without a server.
func (o *Options) Read(ctx context.Context, c *connection.Connection, streams genericiooptions.IOStreams, emit func(event.Event)) error {
	if err := c.ExpectedContext(); err != nil {
		return err
	}
	o.Files.Secrets = c.Vault
	if !o.typed {
		if !o.Offline {
			c.OpenEarly()
		}
		emit(event.Preparing{Text: "reading the manifests"})
		o.Files.Report = func(what string, since time.Time, within time.Duration) {
			emit(event.Waiting{For: what, Since: since, Within: within})
		}
	}
	result, err := manifest.Read(ctx, o.Files)
	if err != nil && ctx.Err() == nil {
		scope := o.Scope
		scope.Namespace, scope.Enforced, _ = c.Namespace() // A broken kubeconfig is reported later.
		faults := plan.Faults(result.Objects, scope)
		if len(result.Objects) > 0 && len(result.Invalid)+len(faults) > 0 {
			faults = append(faults, errBroken)
		}
		return errors.Join(append([]error{err}, faults...)...)
	}
	if err != nil {
		return err
	}
	SayLeftOut(result, streams)
	o.Manifests, o.warnings, o.invalid, o.hooks = result.Objects, result.Warnings, result.Invalid, result.Hooks
	o.unselected = result.Unselected
	return nil
}

// ReadAsIs reads the manifests for a verb that sends no requests. It keeps fields that a server has
// set.
func (o *Options) ReadAsIs(ctx context.Context, c *connection.Connection, streams genericiooptions.IOStreams) ([]object.Manifest, error) {
	o.Files.Secrets, o.Files.AsIs = c.Vault, true
	result, err := manifest.Read(ctx, o.Files)
	if err != nil {
		return nil, err
	}
	SayLeftOut(result, streams)
	o.invalid = result.Invalid
	return result.Objects, nil
}

// SayLeftOut prints the files that contain no object.
func SayLeftOut(result manifest.Result, streams genericiooptions.IOStreams) {
	width, _ := verb.Terminal(streams.ErrOut)
	for _, skipped := range result.Skipped {
		fmt.Fprintln(streams.ErrOut, format.Fit("skipped ", skipped.Source.String()+": "+skipped.Reason, width))
	}
}

// LeftOut reports whether invalid objects were skipped.
func (o *Options) LeftOut() bool { return len(o.invalid) > 0 }

// Incomplete returns the error of the run, or [verb.ErrNo] if objects were skipped.
func (o *Options) Incomplete(end error) error {
	if end == nil && len(o.invalid) > 0 {
		return verb.ErrNo
	}
	return end
}
