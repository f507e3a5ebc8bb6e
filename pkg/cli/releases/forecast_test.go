package releases

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// A conflict makes an upgrade by Helm fail, but Flux forces it. Flux also takes over an object that is
// not marked as one of the release.
func TestFluxForces(t *testing.T) {
	path, fault := fieldpath.ParsePath(".data.a")
	if fault != nil {
		t.Fatal(fault)
	}
	live := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"},
	}}
	for manager, want := range map[string]event.Release{
		"helm":            {Forecast: event.UpgradeFails},
		"helm-controller": {Forecast: event.UpgradeReady, Overwrites: make([]event.ObjectConflicts, 1)},
	} {
		for _, joins := range []bool{false, true} {
			ref := object.RefOf(live)
			r := &release{base: map[object.Key]*unstructured.Unstructured{ref.Key(): live}}
			r.out = event.Release{Manager: manager, Flux: manager == "helm-controller", ServerSide: true}
			p := &piece{Object: helmrelease.Object{Ref: ref, Declared: live}, live: live}
			if joins {
				delete(r.base, ref.Key())
			} else {
				p.conflicts = []managedfields.Conflict{{Path: path, Owners: []managedfields.Owner{{Manager: "kubectl-edit", Operation: managedfields.Update}}}}
			}
			r.pieces = []*piece{p}
			r.judge()
			if r.out.Forecast != want.Forecast || !joins && len(r.out.Overwrites) != len(want.Overwrites) {
				t.Errorf("%s, joins %t: forecast %v, %d overwrites", manager, joins, r.out.Forecast, len(r.out.Overwrites))
			}
		}
	}
}
