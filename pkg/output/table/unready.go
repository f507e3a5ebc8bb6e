package table

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// namedOfRoot is the number of objects with one cause that are named.
const namedOfRoot = 5

// NewUnready returns the table of the "unready" verb: each cause with its objects, the objects
// without a cause, and the remarks.
func NewUnready(b output.Base) output.Results {
	return output.Printed(b, func(u event.Unready) string { return unready(b, u) })
}

// unready prints each cause that several objects share, with these objects, and then each object that has
// a cause of its own or none.
func unready(base output.Base, u event.Unready) string {
	var b strings.Builder
	for _, root := range u.Roots {
		if !base.Verbose && len(root.Holds) > 1 {
			unreadyRoot(base, &b, root)
		}
	}
	apart, causes := format.Apart(u, base.Verbose)
	var doubts format.Doubts
	for _, o := range apart {
		unreadyObject(base, &b, o, &doubts)
	}
	for _, same := range format.Grouped(u.Remarks, func(r event.Remarked) string { return r.Ref.GVK.Kind + " " + r.Code + " " + r.Text }) {
		unreadyRemarks(base, &b, same)
	}
	for _, line := range format.Unready(u, causes) {
		b.WriteString(format.Fit("", line, base.Width) + "\n")
	}
	return b.String()
}

func unreadyObject(base output.Base, b *strings.Builder, o event.UnreadyObject, doubts *format.Doubts) {
	b.WriteString(format.Fit("", format.UnreadyHead(o), base.Width) + "\n")
	format.Below(b, format.Causes(brief(base, doubts.Once(o.Causes))), "    ", base.Width)
}

func unreadyRoot(base output.Base, b *strings.Builder, root event.Rooted) {
	b.WriteString(base.Paint.Bold.Sprint(format.KindCounts(root.Holds)+" not ready, for the same reason") + "\n")
	format.Below(b, format.Causes(brief(base, []event.Cause{root.Cause})), "    ", base.Width)
	format.Below(b, someNames(root.Holds), "  ", base.Width)
}

// someNames names the first of several objects and counts the others.
func someNames(refs []object.Ref) []string {
	shown := refs
	if len(shown) > namedOfRoot {
		shown = shown[:namedOfRoot-1]
	}
	var names []string
	for _, ref := range shown {
		names = append(names, format.Name(ref))
	}
	if more := len(refs) - len(shown); more > 0 {
		names = append(names, fmt.Sprintf("and %s (-v 1 shows each)", text.Count(more, "more object")))
	}
	return names
}

// unreadyRemarks prints remarks that differ only in the object. The first is printed in full.
func unreadyRemarks(base output.Base, b *strings.Builder, same []event.Remarked) {
	shown := same
	if !base.Verbose {
		shown = same[:1]
	}
	for _, r := range shown {
		b.WriteString(format.Fit("", format.Name(r.Ref)+": "+r.Text, base.Width) + "\n")
		format.Below(b, format.Lines(r.Hint), "    ", base.Width)
	}
	var others []object.Ref
	for _, r := range same[len(shown):] {
		others = append(others, r.Ref)
	}
	if len(others) > 0 {
		b.WriteString("    the same for " + format.KindCounts(others) + "\n")
		format.Below(b, someNames(others), "      ", base.Width)
	}
}

// NewUnreadyNames returns the names of unready objects.
func NewUnreadyNames(b output.Base) output.Results {
	return output.Printed(b, func(u event.Unready) string {
		var names strings.Builder
		for _, o := range u.Found {
			names.WriteString(text.Printable(o.Ref.Resource()) + "\n")
		}
		return names.String()
	})
}
