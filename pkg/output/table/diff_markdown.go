package table

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// markdownBytes limits a diff in Markdown, because a GitHub comment can have at most 65,536
	// characters and the job may add a heading.
	markdownBytes = 65_000
	// An object with more than this many backticks in a row is not shown in full. Fences are one
	// backtick longer than the longest run of backticks that is shown.
	backticks = 100
)

// markdown prints a diff as a comment on a pull request. Everything is inside fences, so that no
// name or value is interpreted as Markdown. Ages are omitted, so that equal diffs produce equal
// texts.
type markdown struct {
	*diffTable
	objects []string
}

// NewDiffMarkdown returns the Markdown of a diff.
func NewDiffMarkdown(b output.Base) output.Results {
	b.Paint, b.Width, b.External = output.NewPalette(false), nil, nil
	return &markdown{diffTable: &diffTable{Base: b, takeovers: takeovers{}, left: leftOver{}}}
}

func (m *markdown) Handle(e event.Event) {
	if c, ok := e.(event.Compared); ok {
		c.Changes = ageless(c.Changes)
		e = c
	}
	m.diffTable.Handle(e)
}

func ageless(changes []managedfields.Change) []managedfields.Change {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].Owners = slices.Clone(changes[i].Owners)
		for j := range changes[i].Owners {
			changes[i].Owners[j].Time = time.Time{}
		}
	}
	return changes
}

// Flush keeps the finished objects, because the length can be limited only at the end.
func (m *markdown) Flush() {
	m.objects = append(m.objects, m.texts.Drain()...)
	for _, c := range m.stays.Drain() {
		m.objects = append(m.objects, m.head(c))
	}
}

func (m *markdown) Finish(context.Context) error {
	summary := append([]string{diffSummary(m.State)}, m.verdict()...)
	for _, line := range slices.Concat(m.takeovers.lines(true), m.notes()) {
		summary = append(summary, "# "+line)
	}
	shown, named, rest := fitting(m.objects, markdownBytes-len(strings.Join(summary, "\n")))
	if rest > 0 {
		named = append(named, "and "+text.Count(rest, "more object"))
	}
	fence := strings.Repeat("`", 1+max(2, longestRow(strings.Join(slices.Concat(summary, shown, named), "\n"))))
	block := func(language string, lines []string) string {
		if len(lines) == 0 {
			return ""
		}
		return fence + language + "\n" + strings.TrimSuffix(strings.Join(lines, "\n"), "\n") + "\n" + fence + "\n"
	}
	m.Screen.Result(block("text", summary) + block("diff", shown) + block("text", named))
	return nil
}

// fitting returns the objects to show in full, the names of the objects to show by name only, and
// the number of all other objects. It uses the available space for names first.
func fitting(objects []string, bytes int) (shown, named []string, rest int) {
	bytes -= 8*backticks + len("and 1000000 more objects")
	var known []string
	for _, object := range objects {
		name, _, _ := strings.Cut(object, "\n")
		if bytes < len(name)+1 || longestRow(name) > backticks {
			rest++
			continue
		}
		bytes -= len(name) + 1
		known = append(known, object)
	}
	for _, object := range known {
		name, _, _ := strings.Cut(object, "\n")
		if more := len(object) - len(name); bytes < more || longestRow(object) > backticks {
			named = append(named, name)
			continue
		}
		bytes -= len(object) - len(name)
		shown = append(shown, object)
	}
	return shown, named, rest
}

func longestRow(text string) int {
	longest, row := 0, 0
	for _, r := range text {
		if row++; r != '`' {
			row = 0
		}
		longest = max(longest, row)
	}
	return longest
}
