package sets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Leavers gathers the objects that a run takes out of their sets by not stating the label
// that makes them members: an apply that names no set. The zero Leavers is empty.
type Leavers struct {
	mu   sync.Mutex
	sets map[string][]object.Ref
}

// See takes in how one object was, and how it was or would be made. It may be called from
// many goroutines.
func (l *Leavers) See(_ plan.Item, before, after *unstructured.Unstructured, _ bool) {
	if before == nil || after == nil {
		return
	}
	id := before.GetLabels()[applyset.PartOfLabel]
	// An object that has another set's label joined that set, which reports it.
	if id == "" || after.GetLabels()[applyset.PartOfLabel] != "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sets == nil {
		l.sets = map[string][]object.Ref{}
	}
	l.sets[id] = append(l.sets[id], object.RefOf(before))
}

// Tell warns of each set that objects leave. would: nothing was written. It asks the
// cluster nothing unless there is such a set, and if an answer is missing, only the name
// in the warning is lost.
func (l *Leavers) Tell(ctx context.Context, server Server, would bool, emit func(event.Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.sets)) {
		refs := l.sets[id]
		slices.SortFunc(refs, object.Ref.Compare)
		emit(leaving(id, find(ctx, server, id, refs), refs, would))
	}
	l.sets = nil
}

// leaving words the warning. parent is zero if the parent is unknown.
func leaving(id string, parent object.Ref, refs []object.Ref, would bool) event.Warned {
	const shown = 3
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.String()
	}
	left, instead := "left", "to make it one again"
	if would {
		left, instead = "would leave", "to keep it one"
	}
	of, name := "this set", option(parent)
	if parent.Name == "" {
		of, name = "the set "+id, "--"+NameFlag+"=NAME"
	}
	return event.Warned{Ref: parent, Text: fmt.Sprintf(
		"%s %s %s, because this run names no set: %s. No prune of the set deletes what is not a member; %s, apply with %s",
		text.Count(len(refs), "object"), left, of, text.List(names, shown), instead, name)}
}

// option is how the set of a parent is named on a command line.
func option(parent object.Ref) string {
	said := "--" + NameFlag + "=" + text.ShellQuote(Spelled(parent))
	if parent.Namespace != "" {
		said += " -n " + text.ShellQuote(parent.Namespace)
	}
	return said
}

// Spelled is how the set of a parent is named, in the namespace of the parent.
func Spelled(parent object.Ref) string {
	return strings.TrimPrefix(parent.Resource(), strings.ToLower(applyset.ParentKind().Kind)+"/")
}
