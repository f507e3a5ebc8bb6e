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
	// Wide is a table with more columns, of sets.
	Wide  = "wide"
	JUnit = "junit"
	// HTML is one file for a browser, of a survey.
	HTML = "html"
)

// Formats of the objects themselves, not of a report about them. The last is
// followed by = and a template as kubectl takes it.
const (
	Objects      = "objects"
	ObjectsJSON  = "objects=json"
	ObjectsKYAML = "objects=kyaml"
	JSONPath     = "jsonpath"
)

// Manifests is the format that prints the manifests themselves, in order, and applies
// nothing. Package listing writes them; a printer of that format prints no results.
const Manifests = "manifests"

// IsOfObjects reports whether a format prints the objects themselves.
func IsOfObjects(format string) bool {
	return format == Objects || format == ObjectsJSON || format == ObjectsKYAML ||
		strings.HasPrefix(format, JSONPath+"=")
}

// WantsObjects reports whether a format of wait prints the objects themselves.
func WantsObjects(format string) bool {
	return format == YAML || format == KYAML || IsOfObjects(format)
}

// ApplyActions are the results of an apply, in the order in which they are counted.
func ApplyActions() []event.Action {
	return []event.Action{
		event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged, event.InConflict,
		event.Failed, event.Skipped, event.Pruned, event.Remains, event.Unknown, event.Kept,
	}
}

// DiffActions are the results of a diff.
func DiffActions() []event.Action {
	return []event.Action{event.Create, event.Update, event.Recreate, event.Share, event.Delete, event.None, event.Unknown}
}

// DeleteActions are the results of a delete.
func DeleteActions() []event.Action {
	return []event.Action{event.Gone, event.Remains, event.Absent, event.Failed, event.Skipped, event.Unknown, event.Kept}
}

// GiveActions are the results of a give.
func GiveActions() []event.Action {
	return []event.Action{event.Handed, event.Unchanged, event.Failed, event.Unknown}
}

// WaitActions are the results of a wait.
func WaitActions() []event.Action {
	return []event.Action{event.Met, event.Failed, event.TimedOut, event.Unmet, event.Gone, event.Unselected, event.Unknown}
}

// External is a diff program of the user's own, KUBECTL_EXTERNAL_DIFF.
type External struct {
	// Name of the program, and the arguments that come before the two folders.
	Name string
	Args []string
	// Run starts the program with its arguments, its output going to the
	// printer's Out, and returns when it is over. The error of a program that ran
	// has ExitCode() int, as [os/exec.ExitError].
	Run func(ctx context.Context, name string, args []string) error
}

// ParseExternal splits a command as a shell would, quotes included, and drops no word. An
// empty command is nil. Anything that only a shell can do (pipes, redirections,
// variables) is an error.
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
