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

// errBroken ends the faults of an input that also holds sound objects.
var errBroken error = &object.HintedError{
	Err:    errors.New("nothing was done: fix the input first"),
	Advice: "--skip-invalid leaves out what is at fault, and does the rest",
}

// Read reads the manifests, and says on stderr which files hold none; emit reports what
// it waits for. The error has every fault that can be found without a server.
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
		o.Files.Tell = func(what string, since time.Time, within time.Duration) {
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
	sayLeftOut(result, streams)
	o.Manifests, o.warnings, o.invalid, o.hooks = result.Objects, result.Warnings, result.Invalid, result.Hooks
	o.unselected = result.Unselected
	return nil
}

// ReadAsIs reads the manifests with everything that a server once wrote into them, for a
// verb that asks no server.
func (o *Options) ReadAsIs(ctx context.Context, c *connection.Connection, streams genericiooptions.IOStreams) ([]object.Manifest, error) {
	o.Files.Secrets, o.Files.AsIs = c.Vault, true
	result, err := manifest.Read(ctx, o.Files)
	if err != nil {
		return nil, err
	}
	sayLeftOut(result, streams)
	o.invalid = result.Invalid
	return result.Objects, nil
}

// sayLeftOut says which files hold no object.
func sayLeftOut(result manifest.Result, streams genericiooptions.IOStreams) {
	for _, skipped := range result.Skipped {
		fmt.Fprintf(streams.ErrOut, "skipped %s\n", format.Plain(skipped.Source.String()+": "+skipped.Reason))
	}
}

// LeftOut reports whether something of the input was left out because it is at fault.
func (o *Options) LeftOut() bool { return len(o.invalid) > 0 }

// Incomplete returns the end of a run that left something out: the error of the rest, or
// a no.
func (o *Options) Incomplete(end error) error {
	if end == nil && len(o.invalid) > 0 {
		return verb.ErrNo
	}
	return end
}
