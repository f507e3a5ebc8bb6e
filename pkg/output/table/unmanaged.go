package table

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewUnmanaged returns the table of the objects that no tool manages.
func NewUnmanaged(b output.Base) output.Results {
	return output.Printed(b, func(u event.Unmanaged) string {
		var out strings.Builder
		if len(u.Found) > 0 {
			rows := [][]string{{"OBJECT", "MANAGER", "CREATED", "LAST WRITE"}}
			short := [][]string{{"OBJECT", "MANAGER", "CREATED"}}
			for _, group := range unmanagedRows(b, u.Found) {
				manager := "unknown"
				if group[0].Manager != "" {
					manager = format.Manager(group[0].Manager)
				}
				created := spanOf(group, b.Now(), func(o event.UnmanagedObject) time.Time { return o.Created })
				written := spanOf(group, b.Now(), func(o event.UnmanagedObject) time.Time { return o.Written })
				row := []string{unmanagedNames(group), manager, created, written}
				rows, short = append(rows, row), append(short, row[:3:3])
			}
			out.WriteString(format.AlignedFirst(b.Width, rows, short) + "\n")
		}
		message := text.Count(len(u.Found), "unmanaged object") + " of " + text.Count(u.Objects, "object") + text.Printable(u.Where)
		out.WriteString(format.Fit("", message, b.Width) + "\n")
		return out.String()
	})
}

// unmanagedRows groups the objects of one kind, namespace and manager if there are many. With -v 1, each has a
// row.
func unmanagedRows(b output.Base, found []event.UnmanagedObject) [][]event.UnmanagedObject {
	const many = 5
	var rows [][]event.UnmanagedObject
	for _, group := range format.Grouped(found, func(o event.UnmanagedObject) string {
		return strings.Join([]string{o.Ref.GVK.GroupKind().String(), o.Ref.Namespace, o.Manager}, " ")
	}) {
		if len(group) > many && !b.Verbose {
			rows = append(rows, group)
			continue
		}
		for _, o := range group {
			rows = append(rows, []event.UnmanagedObject{o})
		}
	}
	slices.SortStableFunc(rows, func(a, b []event.UnmanagedObject) int { return a[0].Created.Compare(b[0].Created) })
	return rows
}

// unmanagedNames names an object, or counts a group.
func unmanagedNames(group []event.UnmanagedObject) string {
	if len(group) == 1 {
		return format.Name(group[0].Ref)
	}
	refs := make([]object.Ref, len(group))
	for i, o := range group {
		refs[i] = o.Ref
	}
	count := format.KindCounts(refs)
	if ns := group[0].Ref.Namespace; ns != "" {
		count += " -n " + text.Printable(ns)
	}
	return count
}

// spanOf returns when something happened to the objects of a group: from the first time to the last.
func spanOf(group []event.UnmanagedObject, now time.Time, at func(event.UnmanagedObject) time.Time) string {
	first, last := at(group[0]), at(group[0])
	for _, o := range group {
		if at(o).Before(first) {
			first = at(o)
		}
		if at(o).After(last) {
			last = at(o)
		}
	}
	from, to := agoOf(first, now), agoOf(last, now)
	if from == to {
		return from
	}
	return strings.TrimSuffix(from, " ago") + " to " + to
}

func agoOf(at, now time.Time) string {
	if at.IsZero() {
		return "unknown"
	}
	return duration.ShortHumanDuration(max(0, now.Sub(at))) + " ago"
}
