package printer

import (
	"context"
	"errors"
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/document"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/html"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/progress"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/table"
)

// ForApply returns a printer for an apply. It returns an error if the format or its template is
// invalid.
func ForApply(o output.Options) (*Printer, error) {
	applied := output.Word{Text: "applied", Good: []event.Action{event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged}}
	if o.DryRun {
		applied.Text = "checked"
	}
	return newPrinter(o, output.OfApply, output.NewState(applied, false), func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		reported.Explain() // for pruned objects
		asTable := referring(o, b.Format, reported, table.NewApply)
		switch {
		case b.Format == output.Manifests:
			return noResults{}, nil
		case b.Format == output.Role: // The results say why a run fails that the roles would allow.
			return asTable(b.Beside()), nil
		case output.IsOfObjects(b.Format):
			return document.NewAppliedObjects(b, asTable(b.Beside()))
		case b.Format == output.Name:
			return document.NewAppliedNames(b, asTable(b.Beside())), nil
		default:
			return report(b, asTable, document.NewApply, output.ApplyActions()), nil
		}
	})
}

// ForDiff returns a printer for a diff. It returns an error if the format is invalid or the
// external program cannot be run.
func ForDiff(o output.Options) (*Printer, error) {
	if o.External != nil && o.External.Run == nil {
		return nil, fmt.Errorf("external diff program %q cannot be run here", o.External.Name)
	}
	compared := output.Word{Text: "compared", Good: []event.Action{event.Create, event.Update, event.Recreate, event.Share, event.Delete, event.None}}
	return newPrinter(o, output.OfDiff, output.NewState(compared, false), func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		reported.HidePhases()
		switch b.Format {
		case output.Name:
			return table.NewDiffNames(b), nil
		case output.Markdown:
			return table.NewDiffMarkdown(b), nil
		case output.Patch:
			return table.NewDiffPatch(b), nil
		}
		return report(b, table.NewDiff, document.NewDiff, output.DiffActions()), nil
	})
}

// ForWait returns a printer for a wait. The formats yaml and kyaml print objects; the formats json,
// junit and stream print a report about the objects.
func ForWait(o output.Options) (*Printer, error) {
	met := output.Word{Text: "met", Good: []event.Action{event.Met}, Awaited: true}
	return newPrinter(o, output.OfWait, output.NewState(met, true), func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		unmet := referring(o, b.Format, reported, table.NewUnmet)
		switch b.Format {
		case output.YAML:
			b.Format = output.Objects
		case output.KYAML:
			b.Format = output.ObjectsKYAML
		}
		switch {
		case output.IsOfObjects(b.Format):
			return document.NewMetObjects(b, unmet(b.Beside()))
		case b.Format == output.Name:
			return document.NewMetNames(b, unmet(b.Beside())), nil
		default:
			return report(b, referring(o, b.Format, reported, table.NewWait), document.NewWait, output.WaitActions()), nil
		}
	})
}

// referring returns tables that omit causes already shown on the same terminal. In a log, tables
// repeat the causes, because people read a log from the end.
func referring(o output.Options, format string, reported *progress.Reporter, table func(output.Base) output.Results) func(output.Base) output.Results {
	onTerminal := o.Progress && (o.Width != nil || format != output.Table && format != "")
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

// ForDelete returns a printer for a delete. It returns an error if the format is invalid.
func ForDelete(o output.Options) (*Printer, error) {
	gone := output.Word{Text: "gone", Good: []event.Action{event.Gone, event.Absent}, Awaited: true}
	return newPrinter(o, output.OfDelete, output.NewState(gone, false), func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		reported.Explain()
		// The table refers to causes on stderr if it ends up in the same place as stderr, that is,
		// if both streams are on a terminal or the table itself goes to stderr.
		referring := func(b output.Base) output.Results { return table.NewDelete(b, reported.Reported) }
		if b.Format == output.Table && (o.Width == nil || !o.Progress) {
			referring = func(b output.Base) output.Results { return table.NewDelete(b, nil) }
		}
		if b.Format == output.Name {
			return document.NewDeletedNames(b, referring(b.Beside())), nil
		}
		return report(b, referring, document.NewDelete, output.DeleteActions()), nil
	})
}

// ForStuck returns a printer for the "stuck" verb. It returns an error if the format is invalid.
func ForStuck(o output.Options) (*Printer, error) {
	return newPrinter(o, output.OfStuck, output.NewState(output.Word{}, false), func(b output.Base, _ *progress.Reporter) (output.Results, error) {
		if b.Format == output.Name {
			return table.NewStuckNames(b), nil
		}
		return report(b, table.NewStuck, document.NewStuck, nil), nil
	})
}

// ForOwners returns a printer for the owners of objects. It returns an error if the format is
// invalid.
func ForOwners(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfOwners, func(b output.Base) output.Results {
		switch b.Format {
		case output.JSON, output.KYAML:
			return document.NewOwners(b)
		case output.YAML:
			return table.NewCommented(b)
		case output.HTML:
			return html.NewHistory(b)
		default:
			return table.NewOwners(b)
		}
	})
}

// ForSurvey returns a printer for a survey of owners. It returns an error if the format is invalid.
func ForSurvey(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfSurvey, func(b output.Base) output.Results {
		switch b.Format {
		case output.JSON, output.YAML, output.KYAML:
			return document.NewSurvey(b)
		case output.HTML:
			return html.NewSurvey(b)
		default:
			return table.NewSurvey(b)
		}
	})
}

// ForUnmanaged returns a printer for the objects that no tool manages. It returns an error if the format is
// invalid.
func ForUnmanaged(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfHistory, func(b output.Base) output.Results {
		return report(b, table.NewUnmanaged, document.NewUnmanaged, nil)
	})
}

// ForHistory returns a printer for recorded changes to many objects. It returns an error if the
// format is invalid.
func ForHistory(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfHistory, func(b output.Base) output.Results {
		if b.Format == output.HTML {
			return html.NewPastChanges(b)
		}
		return report(b, table.NewPastChanges, document.NewPastChanges, nil)
	})
}

// ForPast returns a printer for the "history" verb. It returns an error if the format is invalid.
func ForPast(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfPast, func(b output.Base) output.Results {
		if b.Format == output.Markdown {
			return document.NewPastMarkdown(b)
		}
		return report(b, table.NewPast, document.NewPast, nil)
	})
}

// ForDeletions returns a printer for recorded deletions. It returns an error if the format is invalid.
func ForDeletions(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfPast, func(b output.Base) output.Results {
		if b.Format == output.Markdown {
			return document.NewDeletionsMarkdown(b)
		}
		return report(b, table.NewDeletions, document.NewDeletions, nil)
	})
}

// ForDeprecated returns a printer for the "deprecated" verb. It returns an error if the format is
// invalid.
func ForDeprecated(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfDeprecated, func(b output.Base) output.Results {
		if b.Format == output.Markdown {
			return document.NewDeprecatedMarkdown(b)
		}
		return report(b, table.NewDeprecated, document.NewDeprecated, nil)
	})
}

// ForFights returns a printer for the "fights" verb. It returns an error if the format is invalid.
func ForFights(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfFights, func(b output.Base) output.Results {
		if b.Format == output.HTML {
			return html.NewFights(b)
		}
		return report(b, table.NewFights, document.NewFights, nil)
	})
}

// ForUnready returns a printer for the "unready" verb. It returns an error if the format is invalid.
func ForUnready(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfUnready, func(b output.Base) output.Results {
		switch b.Format {
		case output.Name:
			return table.NewUnreadyNames(b)
		case output.Markdown:
			return document.NewUnreadyMarkdown(b)
		}
		return report(b, table.NewUnready, document.NewUnready, nil)
	})
}

// ForReleases returns a printer for the "releases" verb. It returns an error if the format is invalid.
func ForReleases(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfReleases, func(b output.Base) output.Results {
		if b.Format == output.Markdown {
			return document.NewReleasesMarkdown(b)
		}
		return report(b, table.NewReleases, document.NewReleases, nil)
	})
}

// ForMigration returns a printer for a migration of owners to served versions. It returns an error
// if the format is invalid.
func ForMigration(o output.Options) (*Printer, error) {
	return printerOf(o, output.OfMigration, func(b output.Base) output.Results {
		return report(b, table.NewMigration, document.NewMigration, nil)
	})
}

func printerOf(o output.Options, r output.Report, choose func(output.Base) output.Results) (*Printer, error) {
	return newPrinter(o, r, output.NewState(output.Word{}, false), func(b output.Base, _ *progress.Reporter) (output.Results, error) { return choose(b), nil })
}

// ForGive returns a printer for a give. It returns an error if the format is invalid.
func ForGive(o output.Options) (*Printer, error) {
	given := output.Word{Text: "given", Good: []event.Action{event.Handed, event.Unchanged}}
	return newPrinter(o, output.OfGive, output.NewState(given, false), func(b output.Base, _ *progress.Reporter) (output.Results, error) {
		return report(b, table.NewGiven, document.NewGiven, output.GiveActions()), nil
	})
}

// ForSets returns a printer for sets. If members is true, there is only one set, and the printer
// lists its members. It returns an error if the format is invalid.
func ForSets(o output.Options, members bool) (*Printer, error) {
	return newPrinter(o, output.OfSets, output.NewState(output.Word{}, false), func(b output.Base, _ *progress.Reporter) (output.Results, error) {
		switch b.Format {
		case output.JSON, output.YAML, output.KYAML:
			return document.NewSets(b), nil
		case output.Name:
			return table.NewSetNames(b, members), nil
		}
		if members {
			return table.NewMembers(b), nil
		}
		return table.NewSets(b), nil
	})
}

func report(b output.Base, asTable, asDocument func(output.Base) output.Results, actions []event.Action) output.Results {
	switch b.Format {
	case output.Table:
		return asTable(b)
	case output.JSON, output.YAML, output.KYAML:
		return asDocument(b)
	case output.JUnit:
		return &logged{asDocument(b), asTable(b.Beside())}
	case output.Stream:
		return document.NewStream(b, actions)
	default:
		return nil
	}
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
