package format

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// KindCounts counts objects by kind, such as "12 Deployments, 1 StatefulSet". The order is that of
// the objects.
func KindCounts(refs []object.Ref) string {
	var kinds []string
	counts := map[string]int{}
	for _, ref := range refs {
		if counts[ref.GVK.Kind] == 0 {
			kinds = append(kinds, ref.GVK.Kind)
		}
		counts[ref.GVK.Kind]++
	}
	for i, kind := range kinds {
		name := text.Printable(kind)
		if counts[kind] > 1 {
			name = plural(name)
		}
		kinds[i] = fmt.Sprintf("%d %s", counts[kind], name)
	}
	return strings.Join(kinds, ", ")
}

func plural(kind string) string {
	switch before, isY := strings.CutSuffix(kind, "y"); {
	case isY && !strings.HasSuffix(before, "a") && !strings.HasSuffix(before, "e") && !strings.HasSuffix(before, "o"):
		return before + "ies"
	case strings.HasSuffix(kind, "s"), strings.HasSuffix(kind, "x"), strings.HasSuffix(kind, "ch"):
		return kind + "es"
	}
	return kind + "s"
}

// Unready summarizes the result of the verb unready.
func Unready(u event.Unready) []string {
	unclear := u.Unclear()
	head := fmt.Sprintf("%d of %s", len(u.Found), text.Count(u.Objects, "object"))
	switch {
	case u.Objects == 0:
		head = "no objects"
	case len(u.Found) == 0 && len(u.Unread)+unclear > 0:
		head = fmt.Sprintf("none of %s", text.Count(u.Objects, "object"))
	case len(u.Found) == 0:
		head = fmt.Sprintf("%s: all ready", text.Count(u.Objects, "object"))
	}
	if u.Objects > 0 && len(u.Found)+len(u.Unread)+unclear > 0 {
		head += " not ready"
	}
	if u.Namespace != "" {
		head = "in namespace " + text.Printable(u.Namespace) + ": " + head
	}
	if len(u.Roots) > 0 && len(u.Found) > 1 {
		head += ", " + text.Count(len(u.Roots), "cause")
	}
	if unclear > 0 {
		head += fmt.Sprintf(", %d unclear", unclear)
	}
	if remarks := len(u.Remarks) - unclear; remarks > 0 {
		head += ", " + text.Count(remarks, "remark")
	}
	if len(u.Unread) > 0 {
		head += ", " + text.Count(len(u.Unread), "kind") + " not read"
	}
	lines := []string{head}
	if u.Terminating > 0 {
		lines = append(lines, text.Count(u.Terminating, "object")+" being deleted; if they do not go away: "+u.Stuck)
	}
	return lines
}

// UnreadyHead names an unready object and says why it is not ready.
func UnreadyHead(o event.UnreadyObject) string {
	if message := strings.Join(Lines(o.Message), " "); message != "" {
		return Name(o.Ref) + ": " + message
	}
	return Name(o.Ref)
}
