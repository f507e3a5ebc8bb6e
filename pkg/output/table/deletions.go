package table

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewDeletions returns the table of deletions. Objects that went with one owner or namespace share a
// line, as do those of a kind that a controller deleted, unless the output is verbose.
func NewDeletions(b output.Base) output.Results {
	return output.Printed(b, func(d event.Deletions) string {
		var out strings.Builder
		for _, group := range format.Grouped(d.Found, func(d event.Deletion) string { return followed(b, d) }) {
			lines := format.DeletionLines(group[0])
			if len(group) > 1 {
				lines = followers(group)
			}
			format.Below(&out, lines, "", b.Width)
		}
		if len(d.Found) > 0 {
			out.WriteString("\n")
		}
		format.Below(&out, format.DeletionsSummary(d, b.Now()), "", b.Width)
		return out.String()
	})
}

// followed returns a key that is the same for deletions with the same cause, and its own for others.
func followed(b output.Base, d event.Deletion) string {
	switch {
	case b.Verbose || d.Gone.IsZero():
	case d.By == "controller" && !d.Gap:
		return "\x00" + d.By + "/" + d.User + "/" + d.Ref.Namespace + "/" + d.Ref.GVK.GroupKind().String()
	case d.Via != "" && d.By != "unknown":
		return followedVia(d)
	}
	return d.Ref.String() + d.UID
}

func followedVia(d event.Deletion) string {
	return "\x00" + d.By + "/" + d.ViaKind + "/" + d.Ref.Namespace + "/" + d.Via
}

func followers(group []event.Deletion) []string {
	refs := make([]object.Ref, len(group))
	for i, d := range group {
		refs[i] = d.Ref
	}
	cause := strings.Replace(format.DeletionCause(group[0]), "with its ", "with their ", 1)
	where := ""
	if group[0].By != "namespace" && group[0].Ref.Namespace != "" {
		where = " -n " + text.Printable(group[0].Ref.Namespace)
	}
	at := format.Stamp(group[0].Gone)
	if group[0].By == "controller" { // It deletes them one after the other.
		byTime := func(a, b event.Deletion) int { return a.Gone.Compare(b.Gone) }
		first, last := format.Stamp(slices.MinFunc(group, byTime).Gone), format.Stamp(slices.MaxFunc(group, byTime).Gone)
		if at = last; first != last {
			at = first + " to " + last
		}
	}
	return []string{at + "  deleted  " + format.KindCounts(refs) + where, "    " + cause}
}
