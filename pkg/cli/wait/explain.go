package wait

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
	waiting "github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

const explainWithin = 5 * time.Second

// Explanation prints the readiness rule of a kind and where it comes from.
type Explanation struct {
	// Kind is the name of the kind as the user typed it.
	Kind  string
	Rules *condition.Set
}

// Execute prints the rule, with the annotations of the CRD if there is a server.
func (o *Explanation) Execute(ctx context.Context, in verb.Invocation) error {
	var others []schema.GroupKind
	gk, err := askedKind(ctx, in.Connection, o.Kind, o.Rules)
	if meta.IsNoMatchError(err) {
		return err
	}
	if err != nil {
		width, _ := verb.Terminal(in.Streams.ErrOut)
		fmt.Fprintln(in.Streams.ErrOut, format.Fit("CRD annotations are ignored, because the server could not be asked: ", err.Error(), width))
		word, group, _ := strings.Cut(o.Kind, ".")
		gk = schema.GroupKind{Group: group, Kind: word}
		if others = knownKinds(o.Kind, o.Rules); len(others) > 0 {
			gk, others = others[0], others[1:]
		}
	}
	explainRule(in.Streams.Out, gk, o.Rules, err == nil)
	if len(others) > 0 {
		names := make([]string, len(others))
		for i, other := range others {
			names[i] = other.String()
		}
		fmt.Fprintf(in.Streams.Out, "  %-8s %s\n", "others", format.Plain(strings.Join(names, ", ")))
	}
	return nil
}

func askedKind(ctx context.Context, c *connection.Connection, named string, rules *condition.Set) (schema.GroupKind, error) {
	ctx, cancel := context.WithTimeout(ctx, explainWithin)
	defer cancel()
	client, err := c.Connect(ctx, c.NewRun(), 0, verb.Ignore)
	if err != nil {
		return schema.GroupKind{}, err
	}
	kind, err := client.Resource(ctx, named)
	if known := knownKinds(named, rules); meta.IsNoMatchError(err) && len(known) > 0 {
		return known[0], nil
	}
	if err != nil {
		return schema.GroupKind{}, err
	}
	if !readiness.NeedsSchema(kind.GVK) {
		return kind.GVK.GroupKind(), nil
	}
	name, annotations, err := client.DefinitionAnnotations(ctx, kind)
	if err == nil {
		rules.Learn(kind.GVK.GroupKind(), name, annotations)
	}
	return kind.GVK.GroupKind(), err
}

// knownKinds returns the kinds that a name may mean, without asking a server. Built-in kinds come
// first.
func knownKinds(named string, set *condition.Set) []schema.GroupKind {
	word, group, grouped := strings.Cut(named, ".")
	if long, ok := shortNames()[word]; ok && !grouped {
		word = long
	}
	var found []schema.GroupKind
	for _, known := range [][]schema.GroupKind{builtinKinds(), set.Kinds(), readiness.OwnRules(), condition.ShippedKinds()} {
		slices.SortFunc(known, func(a, b schema.GroupKind) int { return strings.Compare(a.Group+a.Kind, b.Group+b.Kind) })
		for _, gk := range known {
			plural, singular := meta.UnsafeGuessKindToResource(gk.WithVersion("v1"))
			if (strings.EqualFold(word, gk.Kind) || strings.EqualFold(word, plural.Resource) || strings.EqualFold(word, singular.Resource)) && (!grouped || group == gk.Group) {
				found = append(found, gk)
			}
		}
	}
	return text.Distinct(found)
}

// builtinKinds returns Kubernetes' own kinds. It omits the groups extensions and events.k8s.io,
// because other groups have the same kinds.
func builtinKinds() []schema.GroupKind {
	var all []schema.GroupKind
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && gvk.Group != "extensions" && gvk.Group != "events.k8s.io" {
			all = append(all, gvk.GroupKind())
		}
	}
	return text.Distinct(all)
}

func shortNames() map[string]string {
	return map[string]string{
		"po": "Pod", "rc": "ReplicationController", "pvc": "PersistentVolumeClaim", "pv": "PersistentVolume", "svc": "Service",
		"ns": "Namespace", "no": "Node", "deploy": "Deployment", "rs": "ReplicaSet", "sts": "StatefulSet", "ds": "DaemonSet",
		"cj": "CronJob", "hpa": "HorizontalPodAutoscaler", "pdb": "PodDisruptionBudget", "crd": "CustomResourceDefinition",
		"csr": "CertificateSigningRequest", "netpol": "NetworkPolicy", "ing": "Ingress", "cm": "ConfigMap", "sa": "ServiceAccount",
	}
}

// explainRule prints the readiness rule of a kind. If the kind has no group and no server was
// asked, the rule for custom resources is printed too.
func explainRule(out io.Writer, gk schema.GroupKind, rules *condition.Set, asked bool) {
	width, _ := verb.Terminal(out)
	fmt.Fprintln(out, format.Plain(gk.String()))
	about, own := readiness.About(gk)
	from := "the conventions for kinds without their own rule"
	if own {
		from = "the built-in rule for this kind"
	}
	if !own && !asked && gk.Group == "" {
		custom, _ := readiness.About(schema.GroupKind{Group: "example.com", Kind: gk.Kind})
		about += ", if it is one of Kubernetes' own kinds; otherwise: " + custom
	}
	rule, declared := rules.Of(gk)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintln(out, format.Fit(fmt.Sprintf("  %-8s ", name), strings.Join(strings.Fields(text), " "), width))
		}
	}
	if declared {
		from = rule.From
	}
	switch {
	case rule.Exists():
		about = "it exists, and nothing in its status says that it is not ready"
	case rule.Ready.Text != "":
		about = rule.Ready.Text
	}
	line("ready", about)
	line("failed", rule.Failed.Text)
	line("message", rule.Message.Text)
	line("from", from)
	line("always", "not ready while it is being deleted, or while its status is from another generation")
}

// matching returns the objects that a selector matches when the wait begins. Like kubectl, the wait
// then watches each of them by name: a watch with the selector would report an object as deleted
// once it no longer matches.
func (o *waitOptions) matching(ctx context.Context, client *client.Client, all []target.Target, began time.Time) ([]waiting.Target, error) {
	until, cancel := ctx, func() {}
	if existence := o.engine.Existence; existence != nil {
		until, cancel = context.WithDeadline(ctx, began.Add(*existence))
	}
	defer cancel()
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.3, Jitter: 0.1, Steps: 100, Cap: 3 * time.Second}
	for {
		found, err := o.matchingNow(ctx, client, all)
		if err != nil || len(found) > 0 || o.waitsFor(condition.Delete) {
			return found, err
		}
		if !o.awaitsFirst() {
			return nil, nothing(ctx, client, all, false)
		}
		o.out.Print(event.Waiting{For: "the first matching object", Since: began, Within: max(0, o.timeout)})
		select {
		case <-until.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, context.Cause(ctx)
			}
			return nil, nothing(context.WithoutCancel(ctx), client, all, true)
		case <-time.After(pauses.Step()):
		}
	}
}

func (o *waitOptions) matchingNow(ctx context.Context, client *client.Client, all []target.Target) ([]waiting.Target, error) {
	var found []waiting.Target
	var faults []error
	for _, t := range all {
		err := client.Select(ctx, t.Kind.GVK, t.Selection, "", func(u *unstructured.Unstructured) {
			found = append(found, waiting.Target{
				Selection: object.Selection{Namespace: u.GetNamespace(), Name: u.GetName()},
				Kind:      t.Kind, Type: t.Kind.GVR().GroupResource().String(), Goal: o.goal, Found: true,
			})
		})
		faults = append(faults, err)
	}
	return found, errors.Join(faults...)
}

func (o *waitOptions) waitsFor(kind condition.Kind) bool {
	return slices.ContainsFunc(o.goal.For, func(s condition.Spec) bool { return s.Kind == kind })
}

// awaitsFirst reports whether the wait continues if nothing matches.
func (o *waitOptions) awaitsFirst() bool {
	existence := o.engine.Existence
	return o.timeout != 0 && (existence != nil && *existence > 0 || existence == nil && o.waitsFor(condition.Create))
}

func nothing(ctx context.Context, client *client.Client, all []target.Target, late bool) error {
	var errs []error
	for _, t := range all {
		what := waiting.Selected(t.Kind.GVR().GroupResource().String(), t.Selection)
		errs = append(errs, &waiting.NothingError{
			What: what, TimedOut: late, Why: target.WhyAbsent(client)(ctx, t.Kind, object.Ref{GVK: t.Kind.GVK, Namespace: t.Namespace}),
		})
	}
	return errors.Join(errs...)
}
