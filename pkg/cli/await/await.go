// Package await holds what apply --wait and the verb wait share: conditions, times, and how an
// object that makes no progress is explained.
package await

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait/timelimit"
)

// Flags are apply's flags for waiting.
type Flags struct {
	HangFlags
	wait      bool
	waitFor   []string
	readiness string
	times     TimesFlag
}

// Awaited holds the parsed flags.
type Awaited struct {
	// ready is the goal for objects without a goal of their own; nil if such objects are not waited
	// for.
	ready *wait.Goal
	own   []ownGoal
	rules *condition.Set
	// hanging configures how stuck objects are explained; limits contains the time limits of
	// objects.
	hanging Hanging
	limits  timelimit.Limits
}

type ownGoal struct {
	// This Choice selects objects and has no path. Without a name, it selects all objects of the
	// kind.
	which predict.Choice
	goal  *wait.Goal
	text  string
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.wait, "wait", false, "Wait until everything is ready; before each phase, wait for its prerequisites")
	flags.StringArrayVar(&f.waitFor, "wait-for", nil,
		"KIND[/NAME]:CONDITION to wait for instead of readiness; the CONDITION is as in wait --for. Repeatable")
	f.times.Add(cmd)
	f.HangFlags.Add(cmd, "On by default if stderr is not a terminal; --fail-on-cause= turns it off", unready.Lastings(), stuck.Lastings())
}

// Standing sets the time limits and the file with readiness rules from the configuration.
func (f *Flags) Standing(times []string, readiness string) {
	f.times.Standing, f.readiness = times, readiness
}

// ToAwaited parses the flags. unattended means that no user can interrupt the wait.
func (f *Flags) ToAwaited(flags *pflag.FlagSet, unattended bool) (Awaited, error) {
	rules, rulesErr := ReadRules(f.readiness)
	hanging, hangErr := f.ToHanging(flags, unattended)
	a, errs := Awaited{rules: rules, hanging: hanging}, []error{rulesErr, hangErr}
	if f.wait {
		ready, err := ParseConditions("--wait", []string{string(condition.Ready)})
		a.ready, errs = &wait.Goal{For: ready}, append(errs, err)
	}
	for _, text := range f.waitFor {
		own, err := parseOwnGoal(text)
		a.own, errs = append(a.own, own), append(errs, verb.FlagError("--wait-for", err))
		if own.goal != nil {
			UseRules(rules, false, own.goal.For)
		}
	}
	if a.ready != nil {
		UseRules(rules, false, a.ready.For)
	}
	limits, err := f.times.ToLimits(a.conditions())
	if a.limits = limits; len(f.times.Given) > 0 && !a.Waits() {
		err = errors.New("--timeout-for requires --wait or --wait-for")
	}
	errs = append(errs, err)
	return a, errors.Join(errs...)
}

// Deletes applies the flags to the deletion engine.
func (a Awaited) Deletes(engine *deletion.Engine) {
	engine.StuckAfter, engine.EndsFor = a.hanging.stuckAfter, a.hanging.endsFor
}

// Waits reports whether there is anything to wait for.
func (a Awaited) Waits() bool { return a.ready != nil || len(a.own) > 0 }

func (a Awaited) conditions() []condition.Spec {
	var all []condition.Spec
	if a.ready != nil {
		all = append(all, a.ready.For...)
	}
	for _, own := range a.own {
		if own.goal != nil {
			all = append(all, own.goal.For...)
		}
	}
	return all
}

// ParseConditions parses the values of a flag.
func ParseConditions(flag string, texts []string) ([]condition.Spec, error) {
	var specs []condition.Spec
	var errs []error
	for _, text := range texts {
		spec, err := condition.Parse(text)
		specs, errs = append(specs, spec), append(errs, verb.FlagError(flag, err))
	}
	return specs, errors.Join(errs...)
}

// parseOwnGoal parses KIND[/[NAMESPACE/]NAME]:CONDITION.
func parseOwnGoal(text string) (ownGoal, error) {
	parts := regexp.MustCompile(`^([A-Za-z][A-Za-z0-9.-]*)((?:/[^/:\s]+){0,2}):(.+)$`).FindStringSubmatch(text)
	if parts == nil {
		return ownGoal{}, object.Hinted("such as Service/web:has(self.status.loadBalancer.ingress)",
			"%q: not KIND[/NAME]:CONDITION", text)
	}
	own := ownGoal{which: predict.Choice{Kind: strings.ToLower(parts[1])}, text: strings.TrimSuffix(text, ":"+parts[3])}
	if names := strings.Split(parts[2], "/"); len(names) > 1 {
		own.which.Name = names[len(names)-1]
		if len(names) > 2 {
			own.which.Namespace = names[1]
		}
	}
	spec, err := condition.Parse(parts[3])
	own.goal = &wait.Goal{For: []condition.Spec{spec}}
	return own, err
}

// names reports whether the goal selects the item.
func (g ownGoal) names(item plan.Item) bool {
	return g.which.Names(item.Ref, item.Kind)
}

// goalOf returns the combined goal of all conditions for one object; nil if there are none.
func (a Awaited) goalOf(item plan.Item) *wait.Goal {
	var goal *wait.Goal
	for _, own := range a.own {
		switch {
		case !own.names(item):
		case goal == nil:
			goal = own.goal
		default:
			goal = &wait.Goal{For: append(append([]condition.Spec{}, goal.For...), own.goal.For...)}
		}
	}
	if goal == nil {
		return a.ready
	}
	return goal
}

// Check refuses goals for objects outside the input, and goals that do not fit the kind.
func (a Awaited) Check(ctx context.Context, client *client.Client, p *plan.Plan) error {
	if len(a.own) == 0 {
		return nil
	}
	var targets []wait.Target
	var errs []error
	for _, own := range a.own {
		found := false
		for item := range p.Items() {
			if own.names(item) {
				targets, found = append(targets, Target(item, own.goal)), true
			}
		}
		if !found {
			errs = append(errs, fmt.Errorf("--wait-for: no %s in the input", own.text))
		}
	}
	engine := wait.Engine{Source: Ruled{Source: client, Client: client, Rules: a.rules}}
	return errors.Join(append(errs, engine.Check(ctx, targets))...)
}

// Gate returns the function that apply's engine calls to wait; nil if there is nothing to wait for.
// The wait has a timeout of its own, so that it can still report what is missing. It ends at once
// if the run is cancelled.
func (a Awaited) Gate(patient context.Context, client *client.Client, until time.Time, mask func(string) string, emit func(event.Event)) func(context.Context, []plan.Item) error {
	if !a.Waits() {
		return nil
	}
	return func(ctx context.Context, applied []plan.Item) error {
		// After a timeout, wait for the report; after losing the lock, do not.
		waiting, end := context.WithCancelCause(patient)
		defer end(nil)
		defer context.AfterFunc(ctx, func() {
			if errors.Is(ctx.Err(), context.Canceled) {
				end(context.Cause(ctx))
			}
		})()
		var targets []wait.Target
		for _, item := range applied {
			if goal := a.goalOf(item); goal != nil {
				targets = append(targets, Target(item, goal))
			}
		}
		if len(targets) == 0 {
			return nil
		}
		engine := wait.Engine{
			Source: Ruled{Source: client, Client: client, Rules: a.rules}, WorthAcross: client.WorthAcross, Timeout: verb.UsualTimeout,
			Emit: func(e event.Event) {
				switch e.(type) {
				case event.Planned, event.PhaseStarted:
				default:
					emit(e)
				}
			},
		}
		a.hanging.Onto(&engine, client, mask)
		if !until.IsZero() {
			engine.Timeout = max(time.Millisecond, time.Until(until))
			engine.Most = engine.Timeout
		}
		if len(a.limits) > 0 {
			engine.Limits = a.limits
		}
		within := engine.Timeout
		if engine.Limits != nil {
			within = engine.Most
		}
		emit(event.Waiting{For: text.Count(len(targets), "object") + " to be ready", Within: within})
		return engine.Run(waiting, targets)
	}
}

// Target returns the object of a manifest as a wait target. The server might not serve its kind
// yet.
func Target(it plan.Item, goal *wait.Goal) wait.Target {
	kind := it.Kind
	if kind.GVK.Empty() {
		kind = object.Kind{GVK: it.GVK, Namespaced: true} // until the server reports otherwise
	}
	return wait.Target{
		Selection: object.Selection{Namespace: it.Namespace, Name: it.Name},
		Kind:      kind,
		Type:      kind.GVK.Kind + "." + kind.GVK.Version + "." + kind.GVK.Group,
		Goal:      goal,
	}
}
