package stuck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Scope says which objects a survey covers.
type Scope struct {
	// Kinds are the kinds to look at; nil for all that the server serves.
	Kinds []object.Kind
	// Selection says which of their objects to look at.
	Selection object.Selection
}

// UnreadError says that some kinds could not be read, so that more objects may be terminating. The
// findings are valid nevertheless.
type UnreadError struct {
	// Kinds are the questions that were not answered, each with the reason.
	Kinds []string
	// Errs are the reasons.
	Errs []error
}

// Hint says which permission is missing, or what the first reason that knows it says to do.
func (e *UnreadError) Hint() string {
	if slices.ContainsFunc(e.Errs, apierrors.IsForbidden) {
		return "reading them needs the verb list; see: " + command.Kubectl("auth", "can-i") + " --list. " +
			"With a TYPE or TYPE/NAME, only that is read"
	}
	var hinted interface{ Hint() string }
	for _, err := range e.Errs {
		if errors.As(err, &hinted) && hinted.Hint() != "" {
			return hinted.Hint()
		}
	}
	return ""
}

func (e *UnreadError) Error() string {
	return "could not be read: " + strings.Join(diagnose.Some(e.Kinds, 5), "; ")
}

// Unreachable marks errors that say nothing about an object.
func (e *UnreadError) Unreachable() bool { return true }

// Survey finds all objects of the scope that are terminating, sorted, and explains
// them all from one set of facts. If some kinds could not be read, the error is an
// *UnreadError, returned together with what was found.
func (e *Explainer) Survey(ctx context.Context, scope Scope) ([]Root, []Explained, error) {
	known := diagnose.NewFacts()
	served := scope.Kinds
	if served == nil {
		everything := diagnose.Question{Verb: diagnose.Kinds}
		if err := e.AskAll(ctx, known, []diagnose.Question{everything}); err != nil {
			return nil, nil, err
		}
		a, _ := known.Find(everything)
		if a.Err != nil {
			return nil, nil, fmt.Errorf("discover what the server serves: %w", a.Err)
		}
		served = a.Kinds
	}
	objects, unread := e.terminating(ctx, known, served, scope.Selection)
	if unread != nil && ctx.Err() != nil {
		return nil, nil, unread
	}
	var out []Explained
	run := func(d *diagnosis) {
		out = make([]Explained, len(objects))
		for i, u := range objects {
			out[i] = Explained{Ref: object.RefOf(u), Since: u.GetDeletionTimestamp().Time, Causes: sorted(d.causes(u))}
		}
	}
	if err := e.Fill(ctx, known, func(r *diagnose.Run) { run(newDiagnosis(r)) }); err != nil {
		return nil, nil, err
	}
	d := newDiagnosis(diagnose.NewRun(e.Time(), known))
	run(d)
	d.complete(objects, out)
	return Roots(out), out, unread
}

// complete explains the objects that no rule explained.
func (d *diagnosis) complete(objects []*unstructured.Unstructured, out []Explained) {
	unread, blind := d.unread()
	server := sorted(d.server())
	for i := range out {
		if len(out[i].Causes) > 0 {
			continue
		}
		out[i].Causes = append(out[i].Causes, server...)
		if blind {
			out[i].Causes = append(out[i].Causes, unread.Cause)
		}
		if len(out[i].Causes) == 0 {
			out[i].Causes = append(out[i].Causes, d.unknown(objects[i]).Cause)
		}
	}
}

// terminating reads the metadata of all kinds in parallel and returns what is
// terminating.
func (e *Explainer) terminating(ctx context.Context, known *diagnose.Facts, served []object.Kind, sel object.Selection) ([]*unstructured.Unstructured, error) {
	var questions []diagnose.Question
	for _, kind := range served {
		if kind.Namespaced || sel.Namespace == "" {
			q := diagnose.Question{Verb: diagnose.Metadata, GVK: kind.GVK, Name: sel.Name, Labels: sel.Labels, Namespace: sel.Namespace}
			questions = append(questions, q)
		}
	}
	if err := e.AskAll(ctx, known, questions); err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	var unread UnreadError
	for _, q := range questions {
		a, _ := known.Find(q)
		if a.Err != nil {
			unread.Kinds = append(unread.Kinds, q.String()+": "+reason(a.Err))
			unread.Errs = append(unread.Errs, a.Err)
		}
		for _, u := range a.Objects {
			if diagnose.Terminating(u) {
				found = append(found, u)
			}
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return object.RefOf(a).Compare(object.RefOf(b)) })
	if len(unread.Kinds) > 0 {
		return found, &unread
	}
	return found, nil
}
