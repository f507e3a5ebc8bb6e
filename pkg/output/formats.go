package output

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-shellwords"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// These are the formats of results.
const (
	Table  = "table"
	JSON   = "json"
	YAML   = "yaml"
	KYAML  = "kyaml"
	Name   = "name"
	Stream = "stream"
	// Wide is the Table format with additional columns. Only the "sets" verb supports it.
	Wide  = "wide"
	JUnit = "junit"
	// Markdown is a format for a code review or a job summary. Only the "deprecated", "diff",
	// "releases" and "unready" verbs support it.
	Markdown = "markdown"
	// Patch is a unified diff of the manifest files. Only the "diff" report has it.
	Patch = "patch"
	// HTML is a file for a browser: a survey, the history of owners, or fights.
	HTML = "html"
)

// These formats print objects instead of a report. As in kubectl, the last one is followed by "="
// and a template.
const (
	Objects      = "objects"
	ObjectsJSON  = "objects=json"
	ObjectsKYAML = "objects=kyaml"
	JSONPath     = "jsonpath"
)

// Manifests is the format that prints the manifests in plan order and applies nothing. Package
// document writes the manifests; a printer with this format prints no results.
const Manifests = "manifests"

// Role is the format that prints the roles that an apply needs, and applies nothing. A printer with
// this format prints no results.
const Role = "role"

// ListOf returns the formats as a text, such as "table, json or jsonpath=TEMPLATE".
func ListOf(formats []string) string {
	names := make([]string, len(formats))
	for i, f := range formats {
		if names[i] = f; strings.HasSuffix(f, "=") {
			names[i] += "TEMPLATE"
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// IsOneOf reports whether a format, perhaps with a template, is one of the given formats.
func IsOneOf(format string, formats []string) bool {
	return slices.ContainsFunc(formats, func(f string) bool {
		return f == format || strings.HasSuffix(f, "=") && strings.HasPrefix(format, f)
	})
}

// IsOfObjects reports whether a format prints objects.
func IsOfObjects(format string) bool {
	return format == Objects || format == ObjectsJSON || format == ObjectsKYAML ||
		strings.HasPrefix(format, JSONPath+"=")
}

// WantsObjects reports whether a format of the "wait" verb prints objects.
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
	return []event.Action{event.Create, event.Update, event.Recreate, event.Share, event.Delete, event.None, event.Unknown, event.Kept}
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
	Name string
	Args []string
	// Run runs the program and waits for it. The program's output goes to the printer's Out. If the
	// program fails, the error has the method ExitCode() int, like [os/exec.ExitError].
	Run func(ctx context.Context, name string, args []string) error
}

// ParseExternal splits a command into words as a shell would. For an empty command, it returns nil.
// Pipes, redirections and variables are an error, because they need a shell.
func ParseExternal(command string) (*External, error) {
	parser := shellwords.NewParser()
	words, err := parser.Parse(command)
	if err != nil {
		return nil, fmt.Errorf("KUBECTL_EXTERNAL_DIFF %q: %w", command, err)
	}
	if parser.Position >= 0 {
		return nil, fmt.Errorf("KUBECTL_EXTERNAL_DIFF %q must be a program and its arguments, because it is run without a shell; quote ; & | < >", command)
	}
	if len(words) == 0 {
		return nil, nil
	}
	return &External{Name: words[0], Args: words[1:]}, nil
}
