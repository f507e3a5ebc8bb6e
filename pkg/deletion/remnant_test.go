package deletion

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

var clusterRoles = object.Kind{GVK: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, Resource: "clusterroles"}

// role returns the ClusterRole "whole", written by the given managers.
func role(uid string, aggregated bool, managers ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"rules": []any{}}}
	u.SetGroupVersionKind(clusterRoles.GVK)
	u.SetName("whole")
	u.SetUID(types.UID(uid))
	var entries []metav1.ManagedFieldsEntry
	for _, m := range managers {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: m})
	}
	u.SetManagedFields(entries)
	if aggregated {
		u.Object["aggregationRule"] = map[string]any{}
	}
	return u
}

// If its controller recreates a ClusterRole after the deletion, the new role is deleted too. A new
// role from another writer is kept, and so is one whose predecessor was never aggregated.
func TestRecreatedClusterRole(t *testing.T) {
	const created = "clusterrole-aggregation-controller"
	for name, tt := range map[string]struct {
		before, again *unstructured.Unstructured
		refused       error
		stays         bool
		warned        string
	}{
		"from the controller": {
			before: role("1", true, "helm", aggregator), again: role("2", false, aggregator),
			warned: created + " had recreated it with nothing but rules; it was deleted again",
		},
		"refused": {
			before: role("1", true, "helm"), again: role("2", false, aggregator), refused: errors.New("no"), stays: true,
			warned: created + " recreated it with nothing but rules, and it could not be deleted again: no",
		},
		"from another tool": {
			before: role("1", true, "helm"), again: role("2", true, "argocd-controller"), stays: true, warned: otherNow,
		},
		"from another tool, without rules": {
			before: role("1", true, "helm"), again: role("2", false, "argocd-controller", aggregator), stays: true, warned: otherNow,
		},
		"never aggregated": {
			before: role("1", false, "helm"), again: role("2", false, aggregator), stays: true, warned: otherNow,
		},
		"nothing": {before: role("1", true, "helm", aggregator)},
	} {
		t.Run(name, func(t *testing.T) {
			// If the controller recreates the role during the phase, the watch shows it.
			alone := []Phase{named(clusterRoles, "whole"), named(configMaps, "part")}
			together := []Phase{{Sets: append(alone[0].Sets, alone[1].Sets...)}}
			for _, phases := range [][]Phase{alone, together} {
				warned := tt.warned
				if warned == otherNow && len(phases) > 1 {
					warned = ""
				}
				synctest.Test(t, func(t *testing.T) {
					f := newFake(tt.before, config("part", "x/hold"))
					deletions := 0
					f.refuse = func(verb, name string) error {
						if verb == "delete" && name == "whole" {
							deletions++
						}
						if deletions > 1 {
							return tt.refused
						}
						return nil
					}
					after(time.Second, func() {
						if tt.again != nil {
							f.put(tt.again)
						}
						f.remove("part")
					})
					r := start(t.Context(), &Engine{Wait: true}, f, phases...)
					if r.err != nil {
						t.Error(r.err)
					}
					same(t, []string{"part deleted", "whole deleted"}, r.results())
					if _, there := f.objects["whole"]; there != tt.stays {
						t.Errorf("the new role exists: %v", there)
					}
					var texts string
					for _, ev := range r.events {
						if w, ok := ev.(event.Warned); ok {
							texts += w.Text
						}
					}
					same(t, warned, texts)
				})
			}
		})
	}
}
