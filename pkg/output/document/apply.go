package document

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewApply returns the document of an apply.
func NewApply(b output.Base) output.Results {
	waited := map[object.Key]*waitEntry{}
	rolledBack := map[object.Key]*rollbackEntry{}
	of := func(e event.Event) *appliedObject {
		switch e := e.(type) {
		case event.Applied:
			o := appliedOf(e)
			return &o
		case event.Waited:
			entry := waitedOf(e).waitEntry
			waited[e.Ref.Key()] = &entry
		case event.RolledBack:
			rolledBack[e.Ref.Key()] = rollbackOf(e)
		}
		return nil
	}
	complete := func(o *appliedObject, x extras) {
		o.Warnings, o.Remarks, o.Decided = x.warnings, x.remarks, x.decided
		o.Wait, o.Rollback = waited[o.ref().Key()], rolledBack[o.ref().Key()]
	}
	suite := func(r result[appliedObject]) junitSuite { return applySuite(r, b.State.InFlags()) }
	d := gather(b, "ApplyResult", output.ApplyActions(), of, complete, suite)
	d.result.Run, d.result.DryRun = &b.Run, b.DryRun
	return d
}

type appliedObject struct {
	objectName
	// The result for the object: created, configured (values changed), recreated (deleted and created
	// again), shared (only owners changed), unchanged, conflict, failed (refused, or the result is
	// unknown), or skipped (not attempted). With --prune, for an object that is no longer in the input:
	// pruned (deleted), terminating (still there), kept, failed or unknown.
	Action event.Action `json:"action"`
	// An explanation, such as why the server did not check the object, or why it was kept.
	Reason string `json:"reason,omitempty"`
	// File and line of the manifest.
	Source string `json:"source,omitempty"`
	// Set in a dry run.
	DryRun bool `json:"dryRun,omitempty"`
	// Why the object failed. For a conflict: why taking every path would not help.
	Error *fault `json:"error,omitempty"`
	// The server's warnings.
	Warnings []string `json:"warnings,omitempty"`
	// Remarks about parts of the object that will not work; see docs/preflight.md.
	Remarks []event.Remarked `json:"remarks,omitempty"`
	// The contested paths.
	Conflicts []contestedPath `json:"conflicts,omitempty"`
	// Values that the apply removed.
	Removed []changedPath `json:"removed,omitempty"`
	// Values that you no longer own, but that stay in the object.
	Released []changedPath `json:"released,omitempty"`
	// Other owners' values that you took or adopted.
	Taken []changedPath `json:"taken,omitempty"`
	// The paths that were left to their owners.
	Yielded []string `json:"yielded,omitempty"`
	// Values that are kept because others set them by design, such as the replicas of an autoscaler.
	Left []contestedPath `json:"left,omitempty"`
	// With -v 1: what decided each path.
	Decided []decidedEntry `json:"decided,omitempty"`
	// Managers whose fields you now own.
	Adopted []string `json:"adopted,omitempty"`
	// Set if only owners change.
	Sharing *managedfields.Sharing `json:"sharing,omitempty"`
	// Set if an existing object has joined a set.
	Joined *event.Joined `json:"joined,omitempty"`
	// Why the object is not ready or not gone, the most important first.
	Causes []event.Cause `json:"causes,omitempty"`
	// With --wait: the result of the wait.
	Wait *waitEntry `json:"wait,omitempty"`
	// With --atomic, if the run was rolled back: the result for the object.
	Rollback *rollbackEntry `json:"rollback,omitempty"`
}

func appliedOf(a event.Applied) appliedObject {
	return appliedObject{
		objectName: nameOf(a.Ref), Action: a.Action, Reason: a.Reason, Source: sourceOf(a.Source), DryRun: a.DryRun, Error: faultOf(a.Err),
		Conflicts: refusedOf(a), Removed: changesOf(a.Removed), Released: changesOf(a.Released), Taken: changesOf(a.Taken),
		Yielded: textsOf(a.Yielded), Left: contestedOf(a.Left),
		Adopted: a.Adopted, Sharing: a.Sharing, Joined: a.Joined, Causes: a.Causes,
	}
}

func refusedOf(a event.Applied) []contestedPath {
	list := contestedOf(a.Conflicts)
	for i, c := range a.Conflicts {
		list[i].Refused = format.WouldBeRefused(a.Err, c.Path)
		list[i].Undeclared = slices.ContainsFunc(a.Unleavable, c.Path.Equal)
	}
	return list
}

func applySuite(result result[appliedObject], named func(object.Ref) string) junitSuite {
	suite := junitSuite{Name: "apply", Log: xmlText(slices.Concat(result.Warnings, remarkTexts(result.Remarks)))}
	for _, o := range result.Objects {
		c := newCase("apply", o.objectName, o.Source, slices.Concat(format.Lines(o.Reason), o.Warnings, remarkTexts(o.Remarks), o.Rollback.lines()))
		switch o.Action { //nolint:exhaustive // all others went well
		case event.InConflict:
			c.Failure = contestedProblem(o, named(o.ref()))
		case event.Failed, event.Remains, event.Unknown:
			c.Failure = problem(o.Action, o.Error, causeTexts(o.Causes))
		case event.Skipped:
			c.Skipped = problem(o.Action, o.Error, nil)
		}
		if o.Wait != nil && o.Wait.Result != event.Met {
			c.Failure = problem(o.Wait.Result, o.Wait.Error, append(conditionTexts(o.Wait.Conditions), causeTexts(o.Wait.Causes)...))
		}
		suite.add(c)
	}
	return suite
}

func contestedProblem(o appliedObject, named string) *junitProblem {
	var message []string
	for _, c := range o.Conflicts {
		live := "(none)"
		if c.Live != nil {
			live = format.Value(*c.Live)
		}
		line := fmt.Sprintf("%s: yours %s, live %s, owned by %s", c.Path, format.Value(c.Yours), live, managers(c.Owners))
		if c.Same {
			line += ", " + format.SameValue
		}
		flag := text.ShellQuote(named + ":" + c.Path)
		message = append(message, line)
		if !c.Refused {
			message = append(message, "  take it    --take="+flag)
		}
		if !c.Undeclared {
			message = append(message, "  leave it   --yield="+flag)
		}
	}
	p := problem(o.Action, o.Error, append(message, "Or agree: put the live values into the manifest."))
	if len(o.Conflicts) > 0 {
		p.Message = text.Printable(fmt.Sprintf("%s is owned by %s", o.Conflicts[0].Path, managers(o.Conflicts[0].Owners)))
		if more := len(o.Conflicts) - 1; more > 0 {
			p.Message += ", and " + text.Count(more, "other contested path")
		}
	}
	return p
}

// managers formats owners with times instead of ages, because a report is read later.
func managers(owners []managedfields.Owner) string {
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = format.Owner(managedfields.Owner{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource}, time.Time{})
		if o.Time.IsZero() {
			continue
		}
		at := format.Stamp(o.Time)
		if inside, found := strings.CutSuffix(names[i], ")"); found {
			names[i] = inside + ", " + at + ")"
		} else {
			names[i] += " (" + at + ")"
		}
	}
	return strings.Join(names, ", ")
}

type rollbackEntry struct {
	// One of restored, deleted (the run had created it), kept and failed.
	Action event.Action `json:"action"`
	// Why the object was kept. For failed: the object's current state.
	Reason string `json:"reason,omitempty"`
	// Paths that others have changed since.
	Left []string `json:"left,omitempty"`
	// Unreturned lists paths that were taken and that the former owner could not get back.
	Unreturned []unreturned `json:"unreturned,omitempty"`
	// Why the rollback of the object failed.
	Error *fault `json:"error,omitempty"`
}

type unreturned struct {
	// The former owner.
	Manager string `json:"manager"`
	// The paths that now have no owner.
	Paths []string `json:"paths"`
}

type rolledBack struct {
	objectName
	rollbackEntry
}

func rollbackOf(e event.RolledBack) *rollbackEntry {
	r := &rollbackEntry{Action: e.Action, Reason: e.Reason, Left: textsOf(e.Left), Error: faultOf(e.Err)}
	for _, u := range e.Unreturned {
		r.Unreturned = append(r.Unreturned, unreturned{Manager: u.Manager, Paths: textsOf(u.Paths)})
	}
	return r
}

func (r *rollbackEntry) lines() []string {
	if r == nil {
		return nil
	}
	parts := []string{"rolled back: " + string(r.Action)}
	if r.Reason != "" {
		parts[0] += ": " + r.Reason
	}
	if r.Error != nil {
		parts[0] += ": " + r.Error.Message
	}
	if len(r.Left) > 0 {
		parts = append(parts, "left to others: "+strings.Join(r.Left, ", "))
	}
	for _, u := range r.Unreturned {
		parts = append(parts, u.Manager+" could not get back: "+strings.Join(u.Paths, ", "))
	}
	return []string{text.Printable(strings.Join(parts, "; "))}
}
