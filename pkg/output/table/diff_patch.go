package table

import (
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
			lines, err := unified("a/"+f.Name, "b/"+f.Name, f.Before, f.After, context)
			if err != nil {
				return err
			}
			if len(lines) > 0 {
				b.Screen.Result("diff --git a/" + f.Name + " b/" + f.Name + "\n" + strings.Join(lines, "\n") + "\n")
			}
		}
		for _, note := range notes {
			b.Screen.Note(text.Printable(note) + "\n")
		}
		b.Screen.Note(diffSummary(b.State) + "\n")
		return nil
	})
}
