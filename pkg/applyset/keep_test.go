package applyset

import (
	"strings"
	"testing"
)

// Each mark keeps an object exactly when its own tool would keep it. The cases differ in spelling,
// in annotation or label, and in a prune or the deletion of the whole set.
func TestKeepMarks(t *testing.T) {
	const (
		never = iota
		whole // only if the whole set is deleted
		always
	)
	const argo, flux = "argocd.argoproj.io/sync-options", "kustomize.toolkit.fluxcd.io/"
	for _, tt := range []struct {
		key, value string
		annotation int
		label      int
	}{
		{"k8sconnect.io/prune", "disabled", always, never},
		{"k8sconnect.io/prune", "Disabled ", always, never},
		{"k8sconnect.io/prune", "enabled", never, never},
		{"helm.sh/resource-policy", "keep", always, never},
		{"helm.sh/resource-policy", "Keep", always, never},
		{"helm.sh/resource-policy", " KEEP\t", always, never},
		{"helm.sh/resource-policy", "keep,other", never, never},
		{"helm.sh/resource-policy", "", never, never},
		{flux + "prune", "disabled", always, always},
		{flux + "prune", "Disabled", always, always},
		{flux + "prune", " disabled", never, never},
		{flux + "prune", "enabled", never, never},
		{flux + "reconcile", "disabled", always, always},
		{flux + "ssa", "Ignore", always, always},
		{flux + "ssa", "Merge", never, never},
		{argo, "Prune=false", always, never},
		{argo, "Validate=false, Prune=false", always, never},
		{argo, "Prune=confirm", always, never},
		{argo, "prune=false", never, never},
		{argo, "Prune=true", never, never},
		{argo, "Delete=false", whole, never},
		{argo, "Replace=true,Delete=confirm", whole, never},
		{"cli-utils.sigs.k8s.io/on-remove", "keep", always, never},
		{"cli-utils.sigs.k8s.io/on-remove", "Keep", never, never},
		{"client.lifecycle.config.k8s.io/deletion", "detach", always, never},
		{"client.lifecycle.config.k8s.io/deletion", "delete", never, never},
	} {
		for how, want := range map[string]int{"annotation": tt.annotation, "label": tt.label} {
			mark := noted(tt.key, tt.value)
			if how == "label" {
				mark = labelled(tt.key, tt.value)
			}
			got := never
			for input, level := range map[string]int{"ConfigMap/stays": always, "": whole} {
				set := Set{Parent: secretRef("prod", "shop")}
				members := []Member{thing("ConfigMap/a", mark)}
				if input != "" {
					members = append(members, thing(input))
					set.Input = inputs(thing(input))
				}
				d := Decide(set, members)
				if len(d.Kept) == 1 && d.Kept[0].Reason == Disabled {
					got = max(got, level)
					if text := d.Kept[0].Text(); !strings.HasPrefix(text, "its "+how+" "+tt.key+": ") {
						t.Errorf("%s %s: %q: %q", how, tt.key, tt.value, text)
					}
				} else if len(d.Doomed) != 1 {
					t.Errorf("%s %s: %q is neither kept nor pruned: %+v", how, tt.key, tt.value, d)
				}
			}
			if got != want {
				t.Errorf("%s %s: %q keeps: %d, want %d (0: never, 1: if everything goes, 2: always)", how, tt.key, tt.value, got, want)
			}
		}
	}
}
