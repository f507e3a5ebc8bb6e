package printer

import (
	"context"
	"errors"
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/progress"
)

// For returns a printer for a report. It returns an error if the report does not have the format, if
// a template is invalid, or if an external diff program cannot be run.
func For(r Report, o output.Options) (*Printer, error) {
	if r == OfDiff && o.External != nil && o.External.Run == nil {
		return nil, fmt.Errorf("external diff program %q cannot be run here", o.External.Name)
	}
	p, err := newPrinter(r, o)
	if err != nil {
		return nil, err
	}
	switch r {
	case OfApply, OfDelete:
		p.reporter.Explain() // deletions, also those of pruned objects
	case OfDiff:
		p.reporter.HidePhases()
	default:
	}
	return p, nil
}

// summary returns the word for what a run achieved, and which results count. Reports without one have
// no line of results at the end.
func summary(r Report, dryRun bool) output.Word {
	switch r {
	case OfApply:
		applied := output.Word{Text: "applied", Good: []event.Action{event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged}}
		if dryRun {
			applied.Text = "checked"
		}
		return applied
	case OfDiff:
		return output.Word{Text: "compared", Good: []event.Action{event.Create, event.Update, event.Recreate, event.Share, event.Delete, event.None}}
	case OfWait:
		return output.Word{Text: "met", Good: []event.Action{event.Met}, Awaited: true}
	case OfDelete:
		return output.Word{Text: "gone", Good: []event.Action{event.Gone, event.Absent}, Awaited: true}
	case OfGive:
		return output.Word{Text: "given", Good: []event.Action{event.Handed, event.Unchanged}}
	default:
		return output.Word{}
	}
}

// referring returns tables that omit causes already shown on the same terminal. In a log, tables
// repeat the causes, because people read a log from the end.
func referring(o output.Options, reported *progress.Reporter, table constructor) constructor {
	onTerminal := o.Progress && (o.Width != nil || o.Format != output.Table)
	if !onTerminal {
		return table
	}
	return func(b output.Base) output.Results { return &referred{table(b), reported} }
}

type referred struct {
	output.Results
	reported *progress.Reporter
}

func (r *referred) Handle(e event.Event) {
	if w, ok := e.(event.Waited); ok {
		e = r.reported.Refer(w)
	}
	r.Results.Handle(e)
}

// logged writes a report to stdout and the table to stderr, because in CI the report goes into a
// file.
type logged struct{ report, log output.Results }

func (l *logged) Handle(e event.Event) {
	l.report.Handle(e)
	l.log.Handle(e)
}

func (l *logged) Flush() {
	l.report.Flush()
	l.log.Flush()
}

func (l *logged) Finish(ctx context.Context) error {
	return errors.Join(l.report.Finish(ctx), l.log.Finish(ctx))
}

type noResults struct{}

func (noResults) Handle(event.Event)           {}
func (noResults) Flush()                       {}
func (noResults) Finish(context.Context) error { return nil }
