package setrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// events creates Events on the set's parent at the start and end of a run.
type events struct {
	server LeaseServer
	parent object.Ref
	lock   *Lock
	verb   string
}

// patience is the timeout for creating an Event. It is short because a run should not wait for
// Events.
const patience = 3 * time.Second

// send creates an Event on the set's parent. It ignores failures, because they must not affect the
// run.
func (e *events) send(ctx context.Context, parent *unstructured.Unstructured, kind, reason, message string) {
	const longest, longestName = 1000, 200 // bytes; the API server accepts 1,024 and 253
	ctx, cancel := context.WithTimeout(transport.Unguarded(context.WithoutCancel(ctx)), patience)
	defer cancel()
	now := metav1.Now()
	said := fmt.Sprintf("%s, run %s, by %s: %s", e.verb, e.lock.run, e.lock.holder, message)
	if len(said) > longest {
		said = strings.ToValidUTF8(said[:longest], "") + "…"
	}
	ev := corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: LeaseOf(e.parent).Namespace,
			Name: strings.TrimRight(e.parent.Name[:min(len(e.parent.Name), longestName)], "-.") + "." +
				strings.ToLower(ulid.Make().String()),
			Annotations: map[string]string{RunAnnotation: e.lock.run},
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: e.parent.GVK.GroupVersion().String(), Kind: e.parent.GVK.Kind,
			Namespace: e.parent.Namespace, Name: e.parent.Name,
		},
		Type: kind, Reason: reason, Message: said, Count: 1,
		FirstTimestamp: now, LastTimestamp: now,
		Source:              corev1.EventSource{Component: "kubectl-k8sconnect"},
		ReportingController: "kubectl-k8sconnect", ReportingInstance: e.lock.holder,
	}
	if parent != nil {
		ev.InvolvedObject.UID = parent.GetUID()
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&ev)
	if err != nil {
		return
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(gvk)
	_, _ = e.server.Create(ctx, object.Kind{GVK: gvk, Resource: "events", Namespaced: true}, u, object.Write{Manager: manager})
}

// Tally counts the results of a run.
type Tally struct {
	mu     sync.Mutex
	counts map[event.Action]int
	failed []string
}

// Counting returns a function that counts events and passes them to emit.
func (t *Tally) Counting(emit func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		if a, ok := e.(event.Applied); ok {
			t.mu.Lock()
			if t.counts == nil {
				t.counts = map[event.Action]int{}
			}
			t.counts[a.Action]++
			if isFailure(a.Action) && len(t.failed) < mostFailed {
				t.failed = append(t.failed, a.Ref.String())
			}
			t.mu.Unlock()
		}
		emit(e)
	}
}

// mostFailed limits the names that the history keeps of a failed run.
const mostFailed = 10

func isFailure(a event.Action) bool {
	return a == event.Failed || a == event.InConflict || a == event.Unknown
}

// Failed returns the names of the first objects that were not applied.
func (t *Tally) Failed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failed)
}

// String returns the counts, such as "3 created, 57 unchanged".
func (t *Tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, action := range []event.Action{
		event.Created, event.Configured, event.Recreated, event.Shared, event.Unchanged, event.InConflict, event.Failed,
		event.Skipped, event.Pruned, event.Remains, event.Unknown,
	} {
		if n := t.counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	return strings.Join(parts, ", ")
}

// Asking returns a function that confirms a prune; nil without a terminal. pause suspends other
// output.
func Asking(streams genericiooptions.IOStreams, pause func(func())) func(context.Context, applyset.Decision, string) (bool, error) {
	if !verb.CanAsk(streams) {
		return nil
	}
	return func(ctx context.Context, d applyset.Decision, doubt string) (yes bool, err error) {
		pause(func() {
			const shown = 20
			for _, m := range d.Doomed[:min(shown, len(d.Doomed))] {
				fmt.Fprintln(streams.ErrOut, "  "+format.Plain(m.Ref.String()))
			}
			if more := len(d.Doomed) - shown; more > 0 {
				fmt.Fprintf(streams.ErrOut, "  and %d more\n", more)
			}
			yes, err = verb.Ask(ctx, streams, format.Plain(doubt)+". Delete them?")
		})
		return yes, err
	}
}
