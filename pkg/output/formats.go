package output

import (
	"context"
	"fmt"
	"strings"

	"github.com/mattn/go-shellwords"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Formats of the results.
const (
	Table  = "table"
	JSON   = "json"
	YAML   = "yaml"
	KYAML  = "kyaml"
	Name   = "name"
	Stream = "stream"
	// Wide is a table of sets with more columns.
	Wide  = "wide"
	JUnit = "junit"
	// Markdown is for a code review or a job summary. The verbs deprecated and diff have it.
	Markdown = "markdown"
	// HTML is one file for a browser. Surveys have it.
	HTML = "html"
)

// Formats that print objects instead of a report. The last is followed by "=" and a template, as in
// kubectl.
const (
	Objects      = "objects"
	ObjectsJSON  = "objects=json"
	ObjectsKYAML = "objects=kyaml"
	JSONPath     = "jsonpath"
)

// Manifests prints the manifests, in plan order, and applies nothing. Package document writes them;
// a printer of this format prints no results.
const Manifests = "manifests"

// IsOfObjects reports whether a format prints objects.
func IsOfObjects(format string) bool {
	return format == Objects || format == ObjectsJSON || format == ObjectsKYAML ||
		strings.HasPrefix(format, JSONPath+"=")
}

// WantsObjects reports whether a format of wait prints objects.
func WantsObjects(format string) bool {
	return format == YAML || format == KYAML || IsOfObjects(format)
}

// ApplyActions returns the results of an apply, in the order of the summary.
func ApplyActions() []event.Action {
	return []event.Action{
		event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged, event.InConflict,
		event.Failed, event.Skipped, event.Pruned, event.Remains, event.Unknown, event.Kept,
	}
}

// DiffActions returns the results of a diff.
func DiffActions() []event.Action {
	return []event.Action{event.Create, event.Update, event.Recreate, event.Share, event.Delete, event.None, event.Unknown}
}

// DeleteActions returns the results of a delete.
func DeleteActions() []event.Action {
	return []event.Action{event.Gone, event.Remains, event.Absent, event.Failed, event.Skipped, event.Unknown, event.Kept}
}

// GiveActions returns the results of a give.
func GiveActions() []event.Action {
	return []event.Action{event.Handed, event.Unchanged, event.Failed, event.Unknown}
}

// WaitActions returns the results of a wait.
func WaitActions() []event.Action {
	return []event.Action{event.Met, event.Failed, event.TimedOut, event.Unmet, event.Gone, event.Unselected, event.Unknown}
}

// External is the user's diff program, from KUBECTL_EXTERNAL_DIFF.
type External struct {
	// Name is the program, Args its arguments before the two directories.
	Name string
	Args []string
	// Run runs the program and waits for it. Its output goes to the printer's Out. If the program
	// exits with an error, that has ExitCode() int, like [os/exec.ExitError].
	Run func(ctx context.Context, name string, args []string) error
}

// ParseExternal splits a command into words as a shell would. It returns nil for an empty command.
// Pipes, redirections and variables, which need a shell, are an error.
func ParseExternal(command string) (*External, error) {
	parser := shellwords.NewParser()
	words, err := parser.Parse(command)
	if err != nil {
		return nil, fmt.Errorf("KUBECTL_EXTERNAL_DIFF %q: %w", command, err)
	}
	if parser.Position >= 0 {
		return nil, fmt.Errorf("KUBECTL_EXTERNAL_DIFF %q: only a program and its arguments, no shell: quote ; & | < >", command)
	}
	if len(words) == 0 {
		return nil, nil
	}
	return &External{Name: words[0], Args: words[1:]}, nil
}
