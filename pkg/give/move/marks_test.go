package move

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func release(name string) Tool {
	return Tool{
		Name: "Helm release shop/" + name, Manager: "helm", Operation: "Apply", Keep: "helm.sh/resource-policy", KeepValue: "keep",
		Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		Annotations: map[string]string{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": "shop"},
	}
}

func kustomization(name string) Tool {
	return Tool{
		Name: "kustomization/shop/" + name, Manager: "kustomize-controller", Operation: "Apply", Keep: "kustomize.toolkit.fluxcd.io/prune", KeepValue: "disabled",
		Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": "shop"},
	}
}

func application(name string) Tool {
	return Tool{
		Name: "application/argocd/" + name, Manager: "argocd-controller", Operation: "Apply",
		Keep: "argocd.argoproj.io/sync-options", KeepValue: "Prune=false", KeepList: true, Joins: true,
		Annotations: map[string]string{"argocd.argoproj.io/tracking-id": name + ":OBJECT"},
	}
}

func set(name string) Tool {
	return Tool{
		Name: "the set " + name, Manager: "k8sconnect", Operation: "Apply", Joins: true,
		Labels: map[string]string{"applyset.kubernetes.io/part-of": name},
	}
}

// markedBy returns an object with the marks of the tools. Later ones overwrite those with the same keys.
func markedBy(all ...Tool) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetNamespace("shop")
	u.SetName("web")
	labels, annotations := map[string]string{}, map[string]string{}
	for _, t := range all {
		maps.Copy(labels, t.Labels)
		for key, value := range t.Annotations {
			annotations[key] = strings.ReplaceAll(value, "OBJECT", "/ConfigMap:shop/web")
		}
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "other", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`),
	}})
	return u
}

// isMarked reports whether an object carries all marks that a tool writes.
func isMarked(t Tool, u *unstructured.Unstructured) bool {
	want := markedBy(t)
	for key, value := range want.GetLabels() {
		if u.GetLabels()[key] != value {
			return false
		}
	}
	for key, value := range want.GetAnnotations() {
		if u.GetAnnotations()[key] != value {
			return false
		}
	}
	return true
}

// For each old and new owner, and each owner whose marks an object carries, too: a move replaces exactly the marks
// of the old owner, leaves those of any other, and names only what it did. An object that another release,
// Kustomization or set has marked does not belong to the old owner, even if that still lists it.
func TestMarksOfEachMove(t *testing.T) {
	makers := []func(string) Tool{release, kustomization, application, set}
	for i, fromKind := range makers {
		for j, toKind := range makers {
			if fromKind("").Keep == "" && toKind("").Keep == "" {
				continue // give refuses a move between sets.
			}
			from, to := fromKind("old"), toKind("new")
			none, every := func(object.Ref) bool { return false }, func(object.Ref) bool { return true }
			from.Lists, to.Lists = every, none
			for name, live := range map[string]*unstructured.Unstructured{
				"no marks": markedBy(), "the old marks": markedBy(from), "the new marks": markedBy(to), "both": markedBy(from, to),
			} {
				checkMove(t, fmt.Sprintf("%s to %s, %s", from.Name, to.Name, name), &Engine{From: from, To: to}, live)
			}
			for k, thirdKind := range makers {
				third := thirdKind("third")
				live := markedBy(from, third)
				name := fmt.Sprintf("%s to %s, marks of %s", from.Name, to.Name, third.Name)
				e := &Engine{From: from, To: to}
				if k == i && !third.KeepList { // Argo CD's mark does not name its Application exactly.
					if steps, err := e.steps(live); err == nil || !strings.Contains(err.Error(), "third") {
						t.Errorf("%s: %d steps, error %v", name, len(steps), err)
					}
					continue
				}
				after := checkMove(t, name, e, live)
				if (k != j || to.Joins) && !isMarked(third, after) {
					t.Errorf("%s: they are gone: %s", name, cmp.Diff(live.Object, after.Object))
				}
			}
		}
	}
}

// checkMove returns the object after the steps of a move.
func checkMove(t *testing.T, name string, e *Engine, live *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	steps, err := e.steps(live)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	after := live.DeepCopy()
	var texts []string
	for _, s := range steps {
		texts = append(texts, s.text)
		patch(after, s.patch)
	}
	if !e.To.Joins && !isMarked(e.To, after) {
		t.Errorf("%s: it does not carry the new marks: %v, %v", name, after.GetLabels(), after.GetAnnotations())
	}
	if isMarked(e.From, after) {
		t.Errorf("%s: it still carries the old marks: %q", name, texts)
	}
	if e.To.Joins && !isMarked(e.To, live) && isMarked(e.To, after) {
		t.Errorf("%s: a tool that deletes what is not in its source has its marks: %q", name, texts)
	}
	joined := !isMarked(e.To, live) && isMarked(e.To, after)
	if got := slices.Contains(texts, "marked as "+e.To.Name); got != joined {
		t.Errorf("%s: %q, joined: %t", name, texts, joined)
	}
	left := isMarked(e.From, live) && !isMarked(e.From, after) && !joined
	if got := slices.Contains(texts, "no longer marked as "+e.From.Name); got != left {
		t.Errorf("%s: %q, left: %t", name, texts, left)
	}
	return after
}

// patch merges metadata into an object, as the server does.
func patch(u *unstructured.Unstructured, metadata map[string]any) {
	for _, field := range []string{"labels", "annotations"} {
		changes, _ := metadata[field].(map[string]any)
		now, _, _ := unstructured.NestedMap(u.Object, "metadata", field)
		if now == nil {
			now = map[string]any{}
		}
		for key, value := range changes {
			if value == nil {
				delete(now, key)
			} else {
				now[key] = value
			}
		}
		_ = unstructured.SetNestedMap(u.Object, now, "metadata", field)
	}
}
