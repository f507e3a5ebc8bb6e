package waitcmd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// resolve finds the kinds of the objects to wait for.
func (o *waitOptions) resolve(ctx context.Context, c *connection.Connection, client *client.Client, began time.Time) ([]wait.Target, error) {
	ctx, cancel := o.within(ctx, began, "the server listed the objects")
	defer cancel()
	if o.targets.InFiles {
		p, err := o.targets.Files.Order(ctx, c, client, o.out.Print)
		if err != nil {
			return nil, err
		}
		return o.planned(p), nil
	}
	return o.argued(ctx, c, client, began)
}

// within bounds what has to be known before the wait can begin.
func (o *waitOptions) within(ctx context.Context, began time.Time, missing string) (context.Context, context.CancelFunc) {
	if o.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, began.Add(o.timeout),
		fmt.Errorf("timed out after %s before %s", o.timeout, missing))
}

// planned are the objects of manifests.
func (o *waitOptions) planned(p *plan.Plan) []wait.Target {
	var all []wait.Target
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			all = append(all, Target(it, o.goal))
		}
	}
	return all
}

// argued are the objects that were named or selected by arguments.
func (o *waitOptions) argued(ctx context.Context, c *connection.Connection, server *client.Client, began time.Time) ([]wait.Target, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	selected := o.targets
	selected.Named = nil
	found, err := selected.Resolve(ctx, c, server)
	faults := []error{err}
	var all []wait.Target
	if err == nil && (o.targets.Fields != "" || o.targets.Labels != "" && o.waitsFor(condition.Delete)) {
		return o.matching(ctx, server, found, began)
	}
	for _, t := range found {
		all = append(all, wait.Target{Selection: t.Selection, Kind: t.Kind, Type: t.Kind.GVR().GroupResource().String(), Goal: o.goal})
	}
	for _, n := range o.targets.Named {
		kind, err := server.Resource(ctx, n.Type)
		if missing, ok := errors.AsType[*client.NoTypeError](err); ok {
			kind, err = guessed(n.Type), o.mayCome(missing)
		}
		faults = append(faults, err)
		sel := object.Selection{Namespace: target.Scope(kind, namespace), Name: n.Name}
		all = append(all, wait.Target{Selection: sel, Kind: kind, Type: n.Type, Goal: o.goal})
	}
	return all, errors.Join(faults...)
}

// mayCome returns nil if a type that is not served is waited for (edge case 45), and else the
// error to report. A type that is almost the name of another is a slip, unless the user asked
// to wait for it; and objects of an unknown type cannot be said to be gone.
func (o *waitOptions) mayCome(missing *client.NoTypeError) error {
	existence := o.engine.Existence
	switch {
	case o.waitsFor(condition.Delete), o.timeout == 0, existence != nil && *existence == 0:
		return missing
	case existence == nil && len(missing.Near) > 0:
		return &object.HintedError{Err: missing, Advice: missing.Hint() + " If not, --existence-timeout=1m waits for it"}
	}
	return nil
}

// versionName matches the version in widgets.v1.example.com, unlike the group in
// widgets.example.com.
var versionName = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)

// guessed returns the kind that a TYPE suggests. It may turn out to have no namespace.
func guessed(typ string) object.Kind {
	gvk := schema.GroupVersionKind{}
	full, resource := schema.ParseResourceArg(typ)
	gvk.Kind, gvk.Group = resource.Resource, resource.Group
	if full != nil && versionName.MatchString(full.Version) {
		gvk.Kind, gvk.Version, gvk.Group = full.Resource, full.Version, full.Group
	}
	return object.Kind{GVK: gvk, Namespaced: true}
}
