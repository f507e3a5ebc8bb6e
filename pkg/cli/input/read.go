package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
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
	for _, skipped := range result.Skipped {
		fmt.Fprintf(streams.ErrOut, "skipped %s\n", format.Plain(skipped.Source.String()+": "+skipped.Reason))
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

// Check refuses choices that cannot be parsed, that identify a list item by its position, or that
// match no object. It warns about a path that no object has.
func Check(p *plan.Plan, predictor predict.Predictor, emit func(event.Event)) error {
	items := slices.Collect(p.Items())
	var errs []error
	places := map[string]int{}
	for _, item := range items {
		err := predictor.Check(item)
		if err == nil {
			continue
		}
		if at, message := places[err.Error()]; !message {
			places[err.Error()] = len(errs)
			errs = append(errs, err)
		} else if position, ok := errors.AsType[*predict.PositionError](errs[at]); ok && position.Key == nil {
			errs[at] = err
		}
	}
	for _, group := range []struct {
		flag    string
		choices []predict.Choice
	}{{"--take", predictor.Take}, {"--yield", predictor.Yield}, {"--recreate", predictor.Recreate}} {
		for _, c := range group.choices {
			if c.Kind != "" && !slices.ContainsFunc(items, func(item plan.Item) bool { return c.Names(item.Ref, item.Kind) }) {
				errs = append(errs, noObject(group.flag, c, items))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, miss := range predictor.Misses(items) {
		emit(event.Warned{Ref: miss.Ref, Text: miss.Text})
	}
	return nil
}

// noObject returns an error for a choice that matches no object. The error suggests the most
// similar name.
func noObject(flag string, c predict.Choice, items []plan.Item) error {
	err := fmt.Errorf("%s: no %s in the input", flag, c.Object())
	var names []string
	for _, item := range items {
		names = append(names, item.Resource())
		if c.Namespace != "" {
			kind := strings.TrimSuffix(item.Resource(), "/"+item.Name)
			names[len(names)-1] = kind + "/" + item.Namespace + "/" + item.Name
		}
	}
	intended := ""
	for _, item := range items {
		as := c
		as.Name, as.Namespace = item.Name, item.Namespace
		if c.Name != "" && intended == "" && as.Names(item.Ref, item.Kind) && (c.Name == as.Name || text.Similar(c.Name, as.Name)) {
			if c.Namespace == "" {
				as.Namespace = ""
			}
			intended = as.Object()
		}
	}
	if intended = cmp.Or(intended, text.Nearest(c.Object(), names)); intended == "" {
		return err
	}
	return &object.HintedError{Err: err, Advice: "did you mean " + intended + "?"}
}
