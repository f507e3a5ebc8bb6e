package predict

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Explain adds advice to a server's refusal if we know more than the server says. It classifies
// refusals by their causes, never by their text.
func (p Predictor) Explain(ctx context.Context, server Server, in *Prediction, err error) error {
	if surplus, is := errors.AsType[*UnremovableError](err); is {
		return &UnremovableError{Ref: surplus.Ref, Additions: surplus.Additions, Err: p.Explain(ctx, server, in, surplus.Err)}
	}
	if lacking := lacksApply(in, err); lacking != nil {
		return lacking
	}
	if gone := p.goneVersion(ctx, server, in, err); gone != nil {
		return gone
	}
	if advice := droppedVersion(in, err); advice != "" {
		return &object.HintedError{Err: err, Advice: advice}
	}
	if misfit := p.misfit(in, err); misfit != nil {
		err = misfit
	}
	if (p.Validation == "Warn" || p.Validation == "Ignore") && unexplained(err) {
		return &object.HintedError{Err: err, Advice: "--validate cannot allow this: server-side apply itself refuses fields that the schema does not declare"}
	}
	if in.Live == nil || !apierrors.IsInvalid(err) {
		return err
	}
	causes := Causes(err)
	advice, proven := p.leftBehind(in, causes), true
	if advice == "" {
		advice, proven = p.undeclared(ctx, server, in, slices.DeleteFunc(slices.Clone(causes), func(c metav1.StatusCause) bool {
			// The manifest itself changes this immutable field, so the cause needs no other
			// explanation.
			return isImmutable(in, c) && slices.ContainsFunc(changesAt(in, c.Field, true), func(r refused) bool { return r.path != nil })
		}))
	}
	if advice == "" || !proven {
		what, fixed := p.immutable(ctx, server, in, causes)
		if what != "" {
			advice = fixed
		}
		if what != "" && strings.Contains(err.Error(), "\n") {
			// The server adds a diff of its internal Go values.
			err = &rewordedError{Err: err, Text: fmt.Sprintf("%s %q is invalid: %s", in.Item.GVK.Kind, in.Item.Name, what)}
		} else if what != "" {
			advice = what + "; " + advice
		}
	}
	if advice == "" {
		return err
	}
	return &object.HintedError{Err: err, Advice: advice}
}

// rewordedError is a refusal in words of our own.
type rewordedError struct {
	Err  error
	Text string
}

func (e *rewordedError) Error() string { return e.Text }

func (e *rewordedError) Unwrap() error { return e.Err }

// ExplainConflict explains why the server would refuse the apply even if it were forced. It returns
// nil if the server would accept the apply, or if the object is to be recreated.
func (p Predictor) ExplainConflict(ctx context.Context, server Server, in *Prediction, conflict *ConflictError) error {
	if conflict.Refusal == nil || p.Recreation(ctx, server, in, conflict.Refusal) != nil {
		return nil
	}
	return fmt.Errorf("even with every path taken, the server would refuse it: %w", p.Explain(ctx, server, in, conflict.Refusal))
}

// leftBehind explains a list that is invalid because of an item that the manifest lacks. The item
// stays because other managers own some of its fields (k/k#131147, structured-merge-diff#335; edge
// cases 25 and 26).
func (p Predictor) leftBehind(in *Prediction, causes []metav1.StatusCause) string {
	list, names := p.leftBehindBy(in, causes)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("an item of %s that is not in the manifest stays because it has fields owned by %s; "+
		"use %s to make it yours, or remove the item by hand",
		list, strings.Join(names, ", "), p.toOwn(in, []fieldpath.Path{list}, names))
}

func (p Predictor) leftBehindBy(in *Prediction, causes []metav1.StatusCause) (fieldpath.Path, []string) {
	entries, err := managedfields.Entries(in.Live)
	if err != nil {
		return nil, nil
	}
	for _, cause := range causes {
		list, _, indexed := strings.Cut(cause.Field, "[")
		if !indexed || cause.Type != metav1.CauseTypeFieldValueDuplicate && cause.Type != metav1.CauseTypeFieldValueRequired {
			continue
		}
		path, err := fieldpath.ParsePath(list)
		if err != nil {
			continue
		}
		var names []string
		for _, owner := range OwnersOfUndeclared(managedfields.Others(entries, p.Manager), path, in.Body) {
			names = append(names, owner.Manager)
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) > 0 {
			return path, names
		}
	}
	return nil, nil
}

// OwnersOfUndeclared returns the sorted owners of fields in those items of the list that the manifest
// lacks.
func OwnersOfUndeclared(entries []managedfields.Entry, list fieldpath.Path, manifest *unstructured.Unstructured) []managedfields.Owner {
	var owners []managedfields.Owner
	for _, e := range entries {
		found := false
		fieldpath.Each(e.Fields, func(p fieldpath.Path) {
			if found || len(p) <= len(list) || p[len(list)].FieldName != nil || !p.HasPrefix(list) {
				return
			}
			_, declared := p[:len(list)+1].Get(manifest.Object)
			found = !declared
		})
		if found {
			owners = append(owners, e.Owner)
		}
	}
	slices.SortFunc(owners, managedfields.Owner.Compare)
	return owners
}

// Permissions looks up our permissions.
type Permissions interface {
	Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error)
}

// DeniedError says that we lack a permission.
type DeniedError struct {
	Err error
	// Verb is empty if it is unknown.
	Verb string
	Item plan.Item
}

func (e *DeniedError) Error() string { return e.Err.Error() }

func (e *DeniedError) Unwrap() error { return e.Err }

func (e *DeniedError) Hint() string {
	words := []string{"see: " + command.Kubectl("auth", "can-i"), e.Verb, e.Item.Kind.GVR().GroupResource().String()}
	if e.Verb == "" {
		words = []string{"see: " + command.Kubectl("auth", "can-i"), "--list"}
	}
	if e.Item.Namespace != "" {
		words = append(words, "-n", e.Item.Namespace)
	}
	return strings.Join(words, " ")
}

// DeniedRead is the counterpart of [Denied] for a failed read. It sends no request, because a read
// is forbidden only if a permission is missing.
func DeniedRead(item plan.Item, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return &DeniedError{Err: err, Verb: "get", Item: item}
}

// Denied returns a *DeniedError if err is due to a missing permission to apply the item, and err
// unchanged otherwise. Quotas and admission plugins refuse with the same status code, so Denied
// asks the server about our permissions. If that fails, Denied assumes that a permission is
// missing.
func Denied(ctx context.Context, server Permissions, item plan.Item, err error) error {
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		errors.As(err, new(*DeniedError)) {
		return err
	}
	// An apply requires the verb patch, and also the verb create if the object does not exist. It
	// requires the verb get to re-read the object after another client has written to it.
	for _, verb := range []string{"patch", "create", "get"} {
		permitted, askErr := server.Permitted(ctx, item.Kind, item.Ref, verb)
		if askErr != nil {
			return &DeniedError{Err: err, Item: item}
		}
		if !permitted {
			return &DeniedError{Err: err, Verb: verb, Item: item}
		}
	}
	return err
}

// undeclared explains a refusal caused by a field that the manifest lacks and that stays because
// other managers own it. The server may name the field itself, a parent or a sibling. For example,
// it names the valueFrom of a variable that still has a value. undeclared names the owner only if the
// server would accept the apply with the owner's fields adopted. proven is false if the server could
// not check that without adopting them.
func (p Predictor) undeclared(ctx context.Context, server Server, in *Prediction, causes []metav1.StatusCause) (advice string, proven bool) {
	for left, names := range p.leftNear(in, causes) {
		if accepted, checked := p.acceptedIfAdopted(ctx, server, in, names); accepted {
			return p.leftInWords(in, left, names), checked
		}
	}
	return "", true
}

// leftNear iterates over fields that other managers own and the manifest lacks, together with their
// managers.
func (p Predictor) leftNear(in *Prediction, causes []metav1.StatusCause) iter.Seq2[[]fieldpath.Path, []string] {
	return func(yield func([]fieldpath.Path, []string) bool) {
		entries, err := managedfields.Entries(in.Live)
		if err != nil {
			return
		}
		others := slices.DeleteFunc(managedfields.Others(entries, p.Manager), func(e managedfields.Entry) bool {
			return e.Subresource != "" || managedfields.IsControlPlane(e.Manager)
		})
		for _, cause := range causes {
			path, err := fieldpath.ParsePath("." + cause.Field)
			if err != nil || len(path) == 0 {
				continue
			}
			if key, ok := path.ByKey(in.Live.Object); ok {
				path = key
			} else if key, ok := path.ByKey(in.Body.Object); ok {
				path = key
			}
			for n := len(path); n > 0 && n >= len(path)-1; n-- {
				if left, names := in.leftOf(others, path[:n]); len(left) > 0 && !yield(left, names) {
					return
				}
			}
		}
	}
}

func (in *Prediction) leftOf(others []managedfields.Entry, near fieldpath.Path) (left []fieldpath.Path, names []string) {
	found := fieldpath.NewSet()
	for _, e := range others {
		fieldpath.Each(e.Fields.Leaves(), func(p fieldpath.Path) {
			_, there := p.Get(in.Live.Object)
			_, declared := p.Get(in.Body.Object)
			if !there || declared || !p.HasPrefix(near) {
				return
			}
			if names = append(names, e.Manager); !fieldpath.Has(found, p) {
				fieldpath.Insert(found, p.Clone())
				left = append(left, p.Clone())
			}
		})
	}
	slices.Sort(names)
	return left, slices.Compact(names)
}

func (p Predictor) acceptedIfAdopted(ctx context.Context, server Server, in *Prediction, names []string) (accepted, checked bool) {
	p.AdoptFrom.Always = slices.Concat(p.AdoptFrom.Always, names)
	p.OnDecision = nil
	with, err := p.Evaluate(in.Item, in.Live)
	if err != nil || p.Ask(ctx, server, &with) != nil {
		return false, false
	}
	return true, with.Unchecked == ""
}

func (p Predictor) leftInWords(in *Prediction, left []fieldpath.Path, names []string) string {
	const most = 3
	paths := make([]string, 0, most)
	for _, path := range left[:min(len(left), most)] {
		paths = append(paths, path.String())
	}
	what := strings.Join(paths, ", ")
	if more := len(left) - most; more > 0 {
		what += " and " + text.Count(more, "more field")
	}
	is, stays, it := "is", "stays", "it"
	if len(left) > 1 {
		is, stays, it = "are", "stay", "them"
	}
	owns := "owns"
	if len(names) > 1 {
		owns = "own"
	}
	return fmt.Sprintf("%s %s not in the manifest, and %s because %s %s %s; use %s to make %s yours and remove %s, or remove %s by hand",
		what, is, stays, strings.Join(names, " and "), owns, it, p.toOwn(in, left, names), it, it, it)
}

// toOwn returns the flag or command that transfers the paths to us. If a tool owns them, the flag
// adopts everything that the tool has applied. If a person owns them, the command transfers only
// these paths.
func (p Predictor) toOwn(in *Prediction, paths []fieldpath.Path, names []string) string {
	if !slices.ContainsFunc(names, managedfields.IsPerson) {
		return "--adopt-from=" + strings.Join(names, ",")
	}
	words := []string{command.Kubectl("k8sconnect", "give"), in.Item.Resource()}
	for _, path := range paths {
		words = append(words, text.ShellQuote(path.String()))
	}
	if ns := in.Item.Namespace; ns != "" {
		words = append(words, "-n", ns)
	}
	return strings.Join(append(words, "--from="+text.ShellQuote(strings.Join(names, ",")), "--to="+text.ShellQuote(p.Manager)), " ")
}
