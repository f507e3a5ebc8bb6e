package format

import (
	"fmt"
	"slices"
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

// Apart returns the objects to print one by one, each with the causes that it shares with no other
// object. It also returns how many causes are printed in total. If repeat is set, shared causes are
// printed for each object.
func Apart(u event.Unready, repeat bool) (apart []event.UnreadyObject, causes int) {
	type held struct {
		cause event.RootKey
		what  object.Key
	}
	shared, printed := map[held]bool{}, map[event.RootKey]bool{}
	rooted, alone := map[object.Key]bool{}, []object.Key{}
	for _, root := range u.Roots {
		key := root.Cause.Root(root.Holds[0])
		printed[key] = true
		for _, ref := range root.Holds {
			rooted[ref.Key()] = true
			if repeat || len(root.Holds) == 1 {
				alone = append(alone, ref.Key())
			} else {
				shared[held{key, ref.Key()}] = true
			}
		}
	}
	objects := map[object.Key]event.UnreadyObject{}
	for _, o := range u.Found {
		objects[o.Ref.Key()] = o
		if !rooted[o.Ref.Key()] {
			alone = append(alone, o.Ref.Key())
		}
	}
	for _, key := range alone {
		o, found := objects[key]
		if delete(objects, key); !found {
			continue // It has several causes.
		}
		o.Causes = slices.DeleteFunc(slices.Clone(o.Causes), func(c event.Cause) bool { return shared[held{c.Root(o.Ref), key}] })
		for _, c := range Brief(o.Causes) {
			if !c.Doubt {
				printed[c.Root(o.Ref)] = true
			}
		}
		apart = append(apart, o)
	}
	return apart, len(printed)
}

// Unready summarizes the result of the verb unready, of which a number of causes was printed.
func Unready(u event.Unready, causes int) []string {
	unclear := u.Unclear()
	head := fmt.Sprintf("%d of %s", len(u.Found), text.Count(u.Objects, "object"))
	switch {
	case u.Objects == 0:
		head = "no objects"
	case len(u.Found)+len(u.Unread)+unclear == 0:
		head = fmt.Sprintf("%s: all ready", text.Count(u.Objects, "object"))
	}
	if u.Objects > 0 && len(u.Found)+len(u.Unread)+unclear > 0 {
		head += " not ready"
	}
	if u.Namespace != "" {
		head = "in namespace " + text.Printable(u.Namespace) + ": " + head
	}
	if causes > 0 && len(u.Found) > 1 {
		head += ", " + text.Count(causes, "cause")
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
