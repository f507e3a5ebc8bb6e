package unready

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// warnings reads the warning events about everything in the facts, by one list for
// a namespace.
func (g *gathering) warnings(ctx context.Context) {
	namespaces := map[string]bool{}
	for _, u := range append([]*unstructured.Unstructured{g.facts.Object}, g.facts.Others...) {
		if u.GetNamespace() != "" {
			namespaces[u.GetNamespace()] = true
		}
	}
	if len(namespaces) == 0 && !silentKind(g.facts.Object) {
		namespaces["default"] = true // where events of what has no namespace are
	}
	about := map[string]bool{}
	for uid := range g.uids {
		about[uid] = true
	}
	var steps []func()
	for namespace := range namespaces {
		steps = append(steps, func() { g.warningsIn(ctx, namespace, about) })
	}
	together(steps...)
}

// warningKind tells warnings apart: of each, the newest is kept.
type warningKind struct{ uid, reason, path, word string }

func (g *gathering) warningsIn(ctx context.Context, namespace string, about map[string]bool) {
	type warning struct {
		event  *corev1.Event
		object *unstructured.Unstructured
	}
	newest := map[warningKind]warning{}
	g.each(ctx, core("Event"), object.Selection{Namespace: namespace}, "type!=Normal", func(u *unstructured.Unstructured) bool {
		e, ok := as[corev1.Event](u)
		if !ok || e.InvolvedObject.UID == "" || !about[string(e.InvolvedObject.UID)] {
			return false
		}
		word, _, _ := strings.Cut(e.Message, " ") // Of probes, it says which.
		kind := warningKind{string(e.InvolvedObject.UID), e.Reason, e.InvolvedObject.FieldPath, word}
		last, known := newest[kind]
		if !known && len(newest) < keepEvents || known && lastSeen(e).After(lastSeen(last.event)) {
			newest[kind] = warning{e, u}
		}
		return false
	})
	for _, w := range newest {
		g.add(w.object)
	}
}

// silentKind tells whether there is nothing to learn from the events of a kind.
func silentKind(u *unstructured.Unstructured) bool {
	gk := u.GroupVersionKind().GroupKind()
	return gk == definition().GroupKind() || gk == apiService().GroupKind() || gk == core("Namespace").GroupKind()
}

// webhooks reads which configuration the admission webhook is in that refuses Pods,
// if one does.
func (g *gathering) webhooks(ctx context.Context) {
	if !slices.ContainsFunc(g.facts.Others, blamesWebhook) && !blamesWebhook(g.facts.Object) {
		return
	}
	var steps []func()
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		steps = append(steps, func() {
			g.each(ctx, admission(kind), object.Selection{}, "", func(u *unstructured.Unstructured) bool { return len(webhookNames(u)) > 0 })
		})
	}
	together(steps...)
}

func blamesWebhook(u *unstructured.Unstructured) bool {
	message, _, _ := unstructured.NestedString(u.Object, "message")
	texts := []string{message, conditionOf(u, "ReplicaFailure").Message}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, `webhook "`) })
}

// webhookNames returns the names of the webhooks of a configuration.
func webhookNames(u *unstructured.Unstructured) []string {
	hooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	var names []string
	for _, hook := range hooks {
		if m, ok := hook.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(m, "name")
			names = append(names, name)
		}
	}
	return distinct(names)
}
