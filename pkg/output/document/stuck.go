package document

import (
	"context"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type stuckObject struct {
	objectName
	// For delete: deleted (it is gone), terminating (accepted, but it still exists), absent (it did not
	// exist, and --ignore-not-found accepts that), failed (refused, or it did not exist), skipped (an
	// object that must be deleted first still exists), unknown, or kept (for sets delete: it changed
	// after the run had read it).
	Action event.Action `json:"action,omitempty"`
	// File and line of the manifest.
	Source string `json:"source,omitempty"`
	// Set in a dry run.
	DryRun bool `json:"dryRun,omitempty"`
	// For a terminating object: when its deletion was requested, by the server's clock.
	DeletionTimestamp time.Time `json:"deletionTimestamp,omitzero"`
	// An explanation, such as why the object was kept.
	Reason string `json:"reason,omitempty"`
	// Why the object failed, or why nothing is known about it.
	Error *fault `json:"error,omitempty"`
	// The server's warnings.
	Warnings []string `json:"warnings,omitempty"`
	// Why the object is not gone, the most important first.
	Causes []event.Cause `json:"causes,omitempty"`
}

func deletedOf(d event.Deleted) stuckObject {
	return stuckObject{
		objectName: nameOf(d.Ref), Action: d.Action, Source: sourceOf(d.Source), DryRun: d.DryRun,
		DeletionTimestamp: d.Since.UTC(), Reason: d.Reason, Error: faultOf(d.Err), Causes: d.Causes,
	}
}

func stuckOf(s event.Stuck) stuckObject {
	return stuckObject{
		objectName: nameOf(s.Ref), DeletionTimestamp: s.Since.UTC(), Error: faultOf(s.Err), Causes: s.Causes,
	}
}

func stuckProblem(action event.Action, o stuckObject) *junitProblem {
	p := problem(action, o.Error, causeTexts(o.Causes))
	if o.Error == nil && len(o.Causes) > 0 {
		p.Message = text.Printable(o.Causes[0].Code + ": " + o.Causes[0].Message)
	}
	return p
}

type stuckDocument struct {
	output.Base
	result   result[stuckObject]
	unread   int
	warnings byObject[string]
}

// NewStuck returns the document of stuck objects.
func NewStuck(b output.Base) output.Results {
	return &stuckDocument{Base: b, result: newResult[stuckObject](b, "StuckResult"), warnings: byObject[string]{}}
}

func (d *stuckDocument) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Stuck:
		d.result.Objects = append(d.result.Objects, stuckOf(e))
		if e.Unread() {
			d.unread++
		}
	case event.Rooted:
		d.result.Roots = append(d.result.Roots, rootedOf(e))
	case event.Warned:
		addWarning(d.warnings, e)
	}
}

func (d *stuckDocument) Finish(context.Context) error {
	result := d.result
	counts := map[string]int{"stuck": len(result.Objects) - d.unread}
	if d.unread > 0 {
		counts["unknown"] = d.unread
	}
	result.Summary = counts
	result.Warnings = allWarnings(d.warnings)
	return writeResult(d.Base, result, stuckSuite)
}

func stuckSuite(result result[stuckObject]) junitSuite {
	suite := junitSuite{Name: "stuck", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("stuck", o.objectName, "", nil)
		if o.Error != nil && o.DeletionTimestamp.IsZero() && len(o.Causes) == 0 {
			c.Error = problem(event.Unknown, o.Error, nil)
		} else {
			c.Failure = stuckProblem(event.Remains, o)
		}
		suite.add(c)
	}
	return suite
}

// NewDelete returns the document of a delete.
func NewDelete(b output.Base) output.Results {
	d := gather(b, "DeleteResult", output.DeleteActions(), only(deletedOf), func(o *stuckObject, x extras) { o.Warnings = x.warnings }, deleteSuite)
	d.result.DryRun = b.DryRun
	return d
}

func deleteSuite(result result[stuckObject]) junitSuite {
	suite := junitSuite{Name: "delete", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("delete", o.objectName, o.Source, append(format.Lines(o.Reason), o.Warnings...))
		switch o.Action { //nolint:exhaustive // all others went well
		case event.Remains, event.Failed:
			c.Failure = stuckProblem(o.Action, o)
		case event.Unknown:
			c.Error = problem(o.Action, o.Error, nil)
		case event.Skipped:
			c.Skipped = problem(o.Action, o.Error, nil)
		}
		suite.add(c)
	}
	return suite
}
