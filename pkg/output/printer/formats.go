package printer

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/document"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/html"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/progress"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/table"
)

// Report names a report that can be printed in several formats.
type Report string

// The reports of the verbs. Owners of many objects have four reports of their own.
const (
	OfApply      Report = "apply"
	OfDiff       Report = "diff"
	OfWait       Report = "wait"
	OfDelete     Report = "delete"
	OfStuck      Report = "stuck"
	OfGive       Report = "give"
	OfSets       Report = "sets"
	OfMembers    Report = "members"
	OfDeprecated Report = "deprecated"
	OfFights     Report = "fights"
	OfUnready    Report = "unready"
	OfReleases   Report = "releases"
	OfOwners     Report = "owners"
	OfSurvey     Report = "survey"
	OfUnmanaged  Report = "unmanaged"
	OfHistory    Report = "history"
	OfPast       Report = "past"
	OfDeletions  Report = "deletions"
	OfMigration  Report = "migration"
)

// Formats returns the formats of one of the reports, for help, completion and errors. A format that
// ends with "=" is followed by a template.
func Formats(reports ...Report) []string {
	var names []string
	for _, r := range reports {
		for _, f := range formatsOf(r, output.Options{}) {
			if !slices.Contains(names, f.name) {
				names = append(names, f.name)
			}
		}
	}
	return names
}

// formats are the formats of one report, each with the output that prints it.
type formats []format

type format struct {
	name    string
	results func(output.Base, *progress.Reporter) (output.Results, error)
}

// constructor returns the output of a report in one format, or in several similar ones.
type constructor = func(output.Base) output.Results

// formatsOf is the table of all reports and their formats. The options decide how a table refers to
// the progress beside it.
func formatsOf(r Report, o output.Options) formats {
	switch r {
	case OfApply:
		return applyFormats(o)
	case OfWait:
		return waitFormats(o)
	case OfDelete:
		return deleteFormats(o)
	case OfDiff:
		return usual(table.NewDiff, document.NewDiff, output.DiffActions()).with(output.Name, table.NewDiffNames).
			with(output.Markdown, table.NewDiffMarkdown).with(output.Patch, table.NewDiffPatch)
	case OfStuck:
		return usual(table.NewStuck, document.NewStuck, nil).with(output.Name, table.NewStuckNames)
	case OfGive:
		return usual(table.NewGiven, document.NewGiven, output.GiveActions()).without(output.Name)
	case OfSets:
		return setFormats(table.NewSets, false)
	case OfMembers:
		return setFormats(table.NewMembers, true)
	case OfDeprecated:
		return some(table.NewDeprecated, document.NewDeprecated, output.Table, output.JSON, output.JUnit).
			with(output.Markdown, document.NewDeprecatedMarkdown)
	case OfFights:
		return some(table.NewFights, document.NewFights, output.Table, output.JSON).with(output.HTML, html.NewFights)
	case OfUnready:
		return some(table.NewUnready, document.NewUnready, output.Table, output.JSON, output.YAML, output.KYAML, output.Name, output.JUnit).
			with(output.Name, table.NewUnreadyNames).with(output.Markdown, document.NewUnreadyMarkdown)
	case OfReleases:
		return some(table.NewReleases, document.NewReleases, output.Table, output.JSON, output.YAML, output.KYAML, output.JUnit).
			with(output.Markdown, document.NewReleasesMarkdown)
	case OfOwners:
		return some(table.NewOwners, document.NewOwners, output.Table, output.YAML, output.JSON, output.KYAML).
			with(output.YAML, table.NewCommented).with(output.HTML, html.NewHistory)
	case OfSurvey:
		return documents(table.NewSurvey, document.NewSurvey).with(output.HTML, html.NewSurvey)
	case OfUnmanaged:
		return documents(table.NewUnmanaged, document.NewUnmanaged)
	case OfHistory:
		return documents(table.NewPastChanges, document.NewPastChanges).with(output.HTML, html.NewPastChanges)
	case OfPast:
		return documents(table.NewPast, document.NewPast).with(output.Markdown, document.NewPastMarkdown)
	case OfDeletions:
		return documents(table.NewDeletions, document.NewDeletions).with(output.Markdown, document.NewDeletionsMarkdown)
	case OfMigration:
		return documents(table.NewMigration, document.NewMigration)
	default:
		return nil
	}
}

func applyFormats(o output.Options) formats {
	asTable := func(b output.Base, reported *progress.Reporter) output.Results {
		return referring(o, reported, table.NewApply)(b)
	}
	objects := func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		return document.NewAppliedObjects(b, asTable(b.Beside(), reported))
	}
	names := func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		return document.NewAppliedNames(b, asTable(b.Beside(), reported)), nil
	}
	// The results say why a run fails that the roles would allow.
	role := func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		return asTable(b.Beside(), reported), nil
	}
	return reports(asTable, document.NewApply, output.ApplyActions(), usualNames()).replaced(format{output.Name, names}).
		replaced(format{output.Objects, objects}).replaced(format{output.ObjectsJSON, objects}).replaced(format{output.ObjectsKYAML, objects}).
		replaced(format{output.JSONPath + "=", objects}).
		with(output.Manifests, func(output.Base) output.Results { return noResults{} }).replaced(format{output.Role, role})
}

// waitFormats has objects in the formats yaml, kyaml, name and jsonpath, and reports in the others.
func waitFormats(o output.Options) formats {
	asTable := func(b output.Base, reported *progress.Reporter) output.Results {
		return referring(o, reported, table.NewWait)(b)
	}
	objects := func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		unmet := referring(o, reported, table.NewUnmet)
		switch b.Format {
		case output.YAML:
			b.Format = output.Objects
		case output.KYAML:
			b.Format = output.ObjectsKYAML
		}
		return document.NewMetObjects(b, unmet(b.Beside()))
	}
	names := func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		return document.NewMetNames(b, referring(o, reported, table.NewUnmet)(b.Beside())), nil
	}
	return reports(asTable, document.NewWait, output.WaitActions(), usualNames()).
		replaced(format{output.YAML, objects}).replaced(format{output.KYAML, objects}).replaced(format{output.Name, names}).
		replaced(format{output.JSONPath + "=", objects})
}

// deleteFormats has tables that refer to causes on stderr if they end up in the same place as
// stderr, that is, if both streams are on a terminal or the table itself goes to stderr.
func deleteFormats(o output.Options) formats {
	asTable := func(b output.Base, reported *progress.Reporter) output.Results {
		if o.Format == output.Table && (o.Width == nil || !o.Progress) {
			return table.NewDelete(b, nil)
		}
		return table.NewDelete(b, reported.Reported)
	}
	names := func(b output.Base, reported *progress.Reporter) (output.Results, error) {
		return document.NewDeletedNames(b, asTable(b.Beside(), reported)), nil
	}
	return reports(asTable, document.NewDelete, output.DeleteActions(), usualNames()).replaced(format{output.Name, names})
}

func setFormats(asTable constructor, members bool) formats {
	return some(asTable, document.NewSets, output.Table, output.Wide, output.JSON, output.YAML, output.KYAML).with(output.Wide, asTable).
		with(output.Name, func(b output.Base) output.Results { return table.NewSetNames(b, members) })
}

func usualNames() []string {
	return []string{output.Table, output.JSON, output.YAML, output.KYAML, output.Name, output.Stream, output.JUnit}
}

// usual returns the formats of most reports of a run. The caller replaces or removes the names.
func usual(asTable, asDocument constructor, actions []event.Action) formats {
	return reports(func(b output.Base, _ *progress.Reporter) output.Results { return asTable(b) }, asDocument, actions, usualNames())
}

// documents returns the table and the three documents of a report.
func documents(asTable, asDocument constructor) formats {
	return some(asTable, asDocument, output.Table, output.JSON, output.YAML, output.KYAML)
}

// some returns a few formats of a report.
func some(asTable, asDocument constructor, names ...string) formats {
	return reports(func(b output.Base, _ *progress.Reporter) output.Results { return asTable(b) }, asDocument, nil, names)
}

func reports(asTable func(output.Base, *progress.Reporter) output.Results, asDocument constructor, actions []event.Action, names []string) formats {
	var list formats
	for _, name := range names {
		list = append(list, format{name, func(b output.Base, reported *progress.Reporter) (output.Results, error) {
			switch name {
			case output.Table:
				return asTable(b, reported), nil
			case output.JUnit:
				return &logged{asDocument(b), asTable(b.Beside(), reported)}, nil
			case output.Stream:
				return document.NewStream(b, actions), nil
			default:
				return asDocument(b), nil
			}
		}})
	}
	return list
}

// with returns the formats with one more, or with another output in its place.
func (list formats) with(name string, results constructor) formats {
	return list.replaced(format{name, func(b output.Base, _ *progress.Reporter) (output.Results, error) { return results(b), nil }})
}

func (list formats) replaced(f format) formats {
	for i := range list {
		if list[i].name == f.name {
			list[i] = f
			return list
		}
	}
	return append(list, f)
}

func (list formats) without(name string) formats {
	return slices.DeleteFunc(list, func(f format) bool { return f.name == name })
}
