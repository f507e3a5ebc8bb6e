package locking

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/lock"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// events announces a run in the cluster, by Events on the set's parent: one at its start
// and one at its end.
type events struct {
	server Server
	parent object.Ref
	me     lock.Identity
	verb   string
}

// patience bounds an Event: it is news, and nothing waits for it.
const patience = 3 * time.Second

// send writes an Event, if that is permitted. A failure is not one of the run, which
// works without Events.
func (e *events) send(ctx context.Context, parent *unstructured.Unstructured, kind, reason, message string) {
	const longest = 1000 // bytes; the API server takes 1,024
	ctx, cancel := context.WithTimeout(request.Unguarded(context.WithoutCancel(ctx)), patience)
	defer cancel()
	now := metav1.Now()
	said := fmt.Sprintf("%s, run %s, by %s: %s", e.verb, e.me.Run, e.me.Holder, message)
	if len(said) > longest {
		said = strings.ToValidUTF8(said[:longest], "") + "…"
	}
	ev := corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: LeaseOf(e.parent).Namespace,
			Name:      nameOf(e.parent.Name), Annotations: map[string]string{RunAnnotation: e.me.Run},
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: e.parent.GVK.GroupVersion().String(), Kind: e.parent.GVK.Kind,
			Namespace: e.parent.Namespace, Name: e.parent.Name,
		},
		Type: kind, Reason: reason, Message: said, Count: 1,
		FirstTimestamp: now, LastTimestamp: now,
		Source:              corev1.EventSource{Component: "kubectl-k8sconnect"},
		ReportingController: "kubectl-k8sconnect", ReportingInstance: e.me.Holder,
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

// nameOf returns a name that no other Event has.
func nameOf(parent string) string {
	const longest = 200
	return strings.TrimRight(parent[:min(len(parent), longest)], "-.") + "." + strings.ToLower(ulid.Make().String())
}
