package await

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/causes"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait/timelimit"
)

// TimesFlag is the flag that sets times for kinds and conditions.
type TimesFlag struct {
	Given []string
	// Standing holds the times from the configuration. Times given in the flag take precedence.
	Standing []string
}

// Add adds the flag to a command.
func (f *TimesFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.Given, "timeout-for", nil,
		"KIND=DURATION, CONDITION=DURATION or KIND:CONDITION=DURATION for objects or conditions that need a different time limit; create=DURATION limits the time until an object exists. Repeatable")
	help.Words(cmd, "timeout-for")
}

// ToLimits parses the flag. awaited lists the conditions to wait for.
func (f *TimesFlag) ToLimits(awaited []condition.Spec) (timelimit.Limits, error) {
	limits, err := timelimit.Parse(f.Given)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, l := range limits {
		if l.Most == 0 {
			faults = append(faults, fmt.Errorf("--timeout-for=%s: the time must be more than 0", l))
		}
	}
	for _, l := range limits.Unknown(awaited) {
		faults = append(faults, object.Hinted("write the condition as in --for; create=DURATION limits the time until an object exists",
			"--timeout-for=%s: nothing waits for %q", l, l.Condition.Text))
	}
	limits, err = limits.With(f.Standing)
	return limits, errors.Join(append(faults, err)...)
}

// Bound sets the time limits of an engine and warns about limits for kinds without objects.
func Bound(engine *wait.Engine, limits timelimit.Limits, targets []wait.Target, emit func(event.Event)) {
	engine.Limits = limits
	var kinds []object.Kind
	for _, t := range targets {
		kinds = append(kinds, t.Kind)
	}
	for _, l := range limits.Idle(kinds) {
		emit(event.Warned{Text: fmt.Sprintf("--timeout-for=%s: the wait includes no object of that kind", l)})
	}
}

// ReadRules reads a file with readiness rules; without a file, there are none.
func ReadRules(file string) (*condition.Set, error) {
	if file == "" {
		return &condition.Set{}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("readiness: %w", err)
	}
	rules, err := condition.ParseRules(file, data)
	return rules, verb.FlagError("readiness", err)
}

// UseRules adds the rules to each "ready" condition.
func UseRules(rules *condition.Set, once bool, specs []condition.Spec) {
	for i := range specs {
		if specs[i].Kind == condition.Ready {
			specs[i].Rules, specs[i].Once = rules, once
		}
	}
}

// Ruled is a source that reads the rules in a CRD's annotations together with the schema. It
// requests no schema for kinds with built-in rules.
type Ruled struct {
	wait.Source
	Client *client.Client
	Rules  *condition.Set
}

// Schema returns the schema of the kind, after reading the rules of the CRD.
func (r Ruled) Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error) {
	name, annotations, err := r.Client.DefinitionAnnotations(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("annotations of customresourcedefinition %s: %w", name, err)
	}
	r.Rules.Learn(kind.GVK.GroupKind(), name, annotations)
	return r.Source.Schema(ctx, kind)
}

// HangFlags are the flags for stuck objects, shared by the verbs that wait.
type HangFlags struct {
	stuckAfter time.Duration
	causes     causes.Flag
	logs       int
}

// Add adds the flags. The parameter (otherwise) describes the default of --fail-on-cause, which
// accepts the given causes.
func (f *HangFlags) Add(cmd *cobra.Command, otherwise string, causes ...map[string]diagnose.Lasting) {
	flags := cmd.Flags()
	flags.DurationVar(&f.stuckAfter, "stuck-after", 15*time.Second, "How long to wait for progress before printing the reason")
	_ = flags.MarkHidden("stuck-after")
	f.causes.Add(cmd, otherwise, causes...)
	flags.IntVar(&f.logs, "logs", 0, "Number of recent log lines to show with a cause that names a container")
	help.Words(cmd, "logs")
	help.Words(cmd, "stuck-after")
}

// Hanging are the parsed flags.
type Hanging struct {
	stuckAfter time.Duration
	endsFor    func(event.Cause) time.Duration
	logs       int
}

// ToHanging parses the flags. unattended means that no user can interrupt the wait.
func (f *HangFlags) ToHanging(flags *pflag.FlagSet, unattended bool) (Hanging, error) {
	h := Hanging{stuckAfter: f.stuckAfter, logs: f.logs}
	switch {
	case f.stuckAfter <= 0:
		return h, errors.New("--stuck-after must be more than 0")
	case f.logs < 0:
		return h, errors.New("--logs must not be negative")
	}
	var err error
	h.endsFor, err = f.causes.EndsFor(flags.Changed, unattended)
	return h, err
}

// Onto lets an engine explain stuck objects. The engine's Emit must be set.
func (h Hanging) Onto(engine *wait.Engine, client *client.Client, mask func(string) string) {
	logs := &podLogs{lines: h.logs, read: client.NoRetry().Log, mask: mask, emit: engine.Emit}
	explainer := &unready.Explainer{Reader: patientReader{client.NoRetry(), client}, Now: client.Now}
	engine.StuckAfter, engine.EndsFor, engine.Complains = h.stuckAfter, h.endsFor, unready.Complains
	engine.Explain = func(ctx context.Context, objects []wait.Stalled) wait.Explanations {
		asked := make([]unready.Asked, len(objects))
		for i, o := range objects {
			asked[i] = unready.Asked{Ref: o.Ref, Moved: o.Moved, Fresh: o.Fresh}
		}
		causes, cost := explainer.Explain(ctx, asked)
		message := wait.Explanations{Causes: causes, Requests: make([]int, len(objects)), Shared: cost.Shared}
		for i := range objects {
			message.Requests[i] = divided(cost.Own, len(objects)) + logs.onto(ctx, causes[i])
		}
		message.Again = divided(cost.Again, len(objects))
		return message
	}
}

func divided(cost, n int) int { return (cost + n - 1) / n }

// patientReader retries requests while the server is briefly unavailable.
type patientReader struct {
	*client.NoRetry
	client *client.Client
}

func (p patientReader) Now() time.Time { return p.client.Now() }

func (p patientReader) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := p.client.Read(ctx, object.Ref{GVK: gvk, Namespace: namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return u, err
}

func (p patientReader) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	return p.client.Exists(ctx, ref)
}

func (p patientReader) Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	return p.client.Select(ctx, gvk, sel, fields, visit)
}
