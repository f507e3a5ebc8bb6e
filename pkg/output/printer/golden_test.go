package printer_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func TestApplyGolden(t *testing.T) {
	tests := map[string]output.Options{
		"table":         {},
		"table-colour":  {Color: true, Width: columns(120)},
		"table-120":     {Width: columns(120)},
		"table-80":      {Width: columns(80)},
		"table-40":      {Width: columns(40)},
		"table-dry-run": {DryRun: true},
		"json":          {Format: output.JSON, Run: "01J"},
		"yaml":          {Format: output.YAML, Run: "01J"},
		"name":          {Format: output.Name},
		"stream":        {Format: output.Stream, Run: "01J", DryRun: true},
		"junit":         {Format: output.JUnit},
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			events := applyStory(t)
			if o.DryRun {
				events = dryRun(events)
			}
			golden(t, "apply-"+name, run(t, printer.OfApply, o, events))
		})
	}
}

func TestDiffGolden(t *testing.T) {
	tests := map[string]output.Options{
		"table":        {},
		"table-colour": {Color: true},
		"json":         {Format: output.JSON},
		"yaml":         {Format: output.YAML},
		"name":         {Format: output.Name},
		"stream":       {Format: output.Stream},
		"junit":        {Format: output.JUnit},
		"markdown":     {Format: output.Markdown, Color: true},
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			golden(t, "diff-"+name, run(t, printer.OfDiff, o, diffStory(t)))
		})
	}
}

func TestColourDoesNotChangeText(t *testing.T) {
	sequence := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for name, report := range map[string]printer.Report{"apply": printer.OfApply, "diff": printer.OfDiff} {
		t.Run(name, func(t *testing.T) {
			events := append(applyStory(t), diffStory(t)...)
			plain := run(t, report, output.Options{}, events).out
			coloured := run(t, report, output.Options{Color: true}, events).out
			if coloured == plain {
				t.Error("the output has no colour")
			}
			if diff := cmp.Diff(plain, sequence.ReplaceAllString(coloured, "")); diff != "" {
				t.Errorf("without its colours the output differs:\n%s", diff)
			}
		})
	}
}

func TestUnknownFormat(t *testing.T) {
	for name, report := range map[string]printer.Report{"apply": printer.OfApply, "diff": printer.OfDiff} {
		if _, err := printer.For(report, output.Options{Format: "jsn"}); err == nil {
			t.Errorf("%s: no error for a format that does not exist", name)
		}
	}
}

func dryRun(events []event.Event) []event.Event {
	for i, e := range events {
		if applied, ok := e.(event.Applied); ok {
			applied.DryRun = true
			events[i] = applied
		}
	}
	return events
}
