package printer_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// A printer either refuses a format at once, or can print a run in it, even one that ends before its
// first result.
func TestAcceptedFormatsPrint(t *testing.T) {
	every := []string{
		output.Table, output.JSON, output.YAML, output.KYAML, output.Name, output.Stream, output.Wide, output.JUnit, output.Markdown,
		output.Patch, output.HTML, output.Objects, output.ObjectsJSON, output.ObjectsKYAML, "jsonpath={.kind}", output.Manifests, output.Role,
	}
	for _, report := range []printer.Report{
		printer.OfApply, printer.OfDiff, printer.OfWait, printer.OfDelete, printer.OfStuck, printer.OfGive, printer.OfSets,
		printer.OfMembers, printer.OfDeprecated, printer.OfFights, printer.OfUnready, printer.OfReleases, printer.OfOwners,
		printer.OfSurvey, printer.OfUnmanaged, printer.OfHistory, printer.OfPast, printer.OfDeletions, printer.OfMigration,
	} {
		accepted := 0
		for _, format := range every {
			t.Run(string(report)+" "+format, func(t *testing.T) {
				o := output.Options{Format: format, Out: t.Output(), Err: t.Output(), Now: noon}
				if _, err := printer.For(report, o); err != nil {
					return
				}
				accepted++
				run(t, report, o, nil)
				run(t, report, o, []event.Event{event.Warned{Text: "deprecated"}})
			})
		}
		if accepted != len(printer.Formats(report)) {
			t.Errorf("%s accepts %d formats, not %q", report, accepted, printer.Formats(report))
		}
	}
}
