package setrun

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// LeavingMembers collects the objects that an apply without a set changes although they are members
// of a set. They remain members unless --leave-set is given.
type LeavingMembers struct {
	// Leave means that the run takes the objects out of their sets.
	Leave bool

	mu   sync.Mutex
	sets map[string][]object.Ref
}

// Carry returns the label to keep on the objects; empty if the run removes the label.
func (l *LeavingMembers) Carry() string {
	if l.Leave {
		return ""
	}
	return applyset.PartOfLabel
}

// See records an object. Calls may be concurrent.
func (l *LeavingMembers) See(_ plan.Item, before, after *unstructured.Unstructured, changes bool) {
	if before == nil || after == nil || !changes {
		return
	}
	id := before.GetLabels()[applyset.PartOfLabel]
	left := after.GetLabels()[applyset.PartOfLabel] == ""
	if id == "" || left != l.Leave {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sets == nil {
		l.sets = map[string][]object.Ref{}
	}
	l.sets[id] = append(l.sets[id], object.RefOf(before))
}

// Warn warns once about each set that has members among the collected objects. The parameter
// (would) is true if nothing was written. Warn ignores failed requests.
func (l *LeavingMembers) Warn(ctx context.Context, server store.Server, would bool, emit func(event.Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.sets)) {
		refs := l.sets[id]
		slices.SortFunc(refs, object.Ref.Compare)
		parent := store.FindByID(ctx, server, id, refs)
		of, name := "this set", option(parent)
		if parent.Name == "" {
			of, name = "the set "+id, "--"+verb.SetFlag+"=NAME"
		}
		emit(event.Warned{Ref: parent, Text: l.text(refs, of, name, would)})
	}
	l.sets = nil
}

func (l *LeavingMembers) text(refs []object.Ref, of, name string, would bool) string {
	const shown = 3
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.String()
	}
	how := "stay in"
	switch {
	case l.Leave && would:
		how = "would leave"
	case l.Leave:
		how = "left"
	case len(refs) == 1:
		how = "stays in"
	}
	message := fmt.Sprintf("%s %s %s: %s. ", text.Count(len(refs), "object"), how, of, text.List(names, shown))
	if l.Leave {
		return message + "They will no longer be pruned; to add them back, apply with " + name
	}
	return message + "This run does not use the set. The next run that prunes the set will delete members that are not in its input: to prevent this, apply with " + name + ", or remove the objects from the set with --" + LeaveFlag
}

func option(parent object.Ref) string {
	message := "--" + verb.SetFlag + "=" + text.ShellQuote(store.Spelled(parent))
	if parent.Namespace != "" {
		message += " -n " + text.ShellQuote(parent.Namespace)
	}
	return message
}
