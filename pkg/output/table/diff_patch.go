package table

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewDiffPatch returns the changes of others as a patch of the manifest files.
func NewDiffPatch(b output.Base) output.Results {
	return output.Together(func([]event.Compared) error {
		files, notes := b.Patch()
		for _, f := range files {
			const context = 3
			from, to := nameForGit("a/"+f.Name), nameForGit("b/"+f.Name)
			lines, err := unified(from, to, f.Before, f.After, context)
			if err != nil {
				return err
			}
			if len(lines) > 0 {
				b.Screen.Result("diff --git " + strings.TrimSuffix(from, "\t") + " " + strings.TrimSuffix(to, "\t") + "\n" + strings.Join(lines, "\n") + "\n")
			}
		}
		for _, note := range notes {
			b.Screen.Note(text.Printable(note) + "\n")
		}
		b.Screen.Note(diffSummary(b.State) + "\n")
		return nil
	})
}

// nameForGit returns a file's name as git diff writes it: in quotes if it contains control characters,
// quotes or backslashes. A tab ends a name with spaces.
// https://git-scm.com/docs/diff-format#generate_patch_text_with_p
func nameForGit(name string) string {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }):
		return quotedForGit(name)
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}

func quotedForGit(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteString("\\" + string(c))
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}
