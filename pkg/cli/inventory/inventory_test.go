package inventory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"kustomization/flux-system/apps":                "kustomization/flux-system/apps kustomize-controller",
		"ks/flux-system/apps":                           "kustomization/flux-system/apps kustomize-controller",
		"Kustomization.kustomize.toolkit.fluxcd.io/a/b": "kustomization/a/b kustomize-controller",
		"hr/shop/web":                                   "helmrelease/shop/web helm-controller",
		"application/argocd/shop":                       "application/argocd/shop argocd-controller",
		"applications.argoproj.io/argocd/shop":          "application/argocd/shop argocd-controller",
		"applications.app.k8s.io/argocd/shop":           "has no known inventory",
		"deployment/shop/web":                           "deployment has no known inventory: use one of kustomization, helmrelease, application",
		"shop/web":                                      "not KIND/NAMESPACE/NAME",
		"ks//web":                                       "not KIND/NAMESPACE/NAME",
		"ks/a/b/c":                                      "not KIND/NAMESPACE/NAME",
	} {
		of, err := Parse(text)
		got := of.String
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		case got()+" "+of.Manager() != want:
			t.Errorf("%s: %s %s, want %s", text, of, of.Manager(), want)
		}
	}
}

// The shapes of the objects are those of the tools' API types: ResourceRef of kustomize-controller
// (api/v1/inventory_types.go), Snapshot of helm-controller (api/v2/snapshot_types.go), and
// ResourceStatus of Argo CD (pkg/apis/application/v1alpha1/types.go). The rows "as its types
// document it" have all fields of these types.
func TestRead(t *testing.T) {
	for name, tt := range map[string]struct {
		of, object string
		want       []string
		fault      string
	}{
		"a Kustomization": {
			of: "ks/a/b",
			object: `{status: {inventory: {entries: [
				{id: shop_web_apps_Deployment, v: v1}, {id: shop_web__Service, v: v1}, {id: _shop__Namespace, v: v1},
				{id: _system__node__reader_rbac.authorization.k8s.io_ClusterRole, v: v1},
				{id: shop_a.b-c_cert-manager.io_Certificate, v: v1alpha2}]}}}`,
			want: []string{
				"apps/v1 Deployment shop/web", "v1 Service shop/web", "v1 Namespace /shop",
				"rbac.authorization.k8s.io/v1 ClusterRole /system:node:reader", "cert-manager.io/v1alpha2 Certificate shop/a.b-c",
			},
		},
		"a Kustomization that never ran":            {of: "ks/a/b", object: "{status: {conditions: []}}", fault: "ks: it has no inventory yet"},
		"a Kustomization of another cluster":        {of: "ks/a/b", object: "{spec: {kubeConfig: {secretRef: {name: x}}}}", fault: "another cluster (spec.kubeConfig)"},
		"a Kustomization with a broken entry":       {of: "ks/a/b", object: "{status: {inventory: {entries: [{id: shop_web_apps_Deployment, v: v1}, {id: web, v: v1}]}}}", fault: `entry 2 of its inventory: "web"`},
		"a Kustomization with no version":           {of: "ks/a/b", object: "{status: {inventory: {entries: [{id: shop_web_apps_Deployment}]}}}", fault: "entry 1"},
		"a Kustomization with an extra name part":   {of: "ks/a/b", object: "{status: {inventory: {entries: [{id: shop_we_b_apps_Deployment, v: v1}]}}}", fault: "entry 1"},
		"a Kustomization with an unknown structure": {of: "ks/a/b", object: "{status: {inventory: {entries: all}}}", fault: "ks:"},
		"a HelmRelease": {
			of: "hr/a/b", object: "{metadata: {name: b, namespace: a}, status: {storageNamespace: s, history: [{name: short-1a2b, version: 7}, {name: old, version: 6}]}}",
			want: []string{"release s/short-1a2b"},
		},
		"a HelmRelease whose history is not sorted": {
			of: "hr/a/b", object: "{metadata: {name: b, namespace: a}, status: {history: [{name: old, version: 6}, {name: new, version: 10}, {name: mid, version: 9}]}}",
			want: []string{"release a/new"},
		},
		"a HelmRelease with all documented fields": {
			of: "hr/a/b", object: `{metadata: {name: b, namespace: a}, spec: {interval: 1h, releaseName: other, storageNamespace: elsewhere}, status: {
				conditions: [{type: Ready, status: "True"}], observedGeneration: 2, storageNamespace: s, lastAttemptedGeneration: 2, helmChart: s/a-b,
				history: [{apiVersion: v2, digest: "sha256:1", name: web, namespace: t, version: 3, status: deployed, chartName: web, chartVersion: 1.0.0, appVersion: 1.0.0,
				configDigest: "sha256:2", firstDeployed: "2026-01-01T00:00:00Z", lastDeployed: "2026-01-02T00:00:00Z", testHooks: {}, ociDigest: "sha256:3"}]}}`,
			want: []string{"release s/web"},
		},
		"a Kustomization with all documented fields": {
			of: "ks/a/b", object: `{spec: {interval: 10m, prune: true, path: ./apps}, status: {observedGeneration: 1, lastAppliedRevision: main@sha1:1,
				inventory: {entries: [{id: shop_web_apps_Deployment, v: v1}]}}}`,
			want: []string{"apps/v1 Deployment shop/web"},
		},
		"an Application with all documented fields": {
			of: "app/a/b", object: `{spec: {project: p, destination: {server: "https://kubernetes.default.svc", namespace: shop}}, status: {
				sync: {status: OutOfSync}, health: {status: Healthy}, resources: [
				{group: apps, version: v1, kind: Deployment, namespace: shop, name: web, status: OutOfSync, health: {status: Healthy}, syncWave: 1},
				{version: v1, kind: ConfigMap, namespace: shop, name: gone, status: OutOfSync, requiresPruning: true, requiresDeletionConfirmation: true},
				{group: batch, version: v1, kind: Job, namespace: shop, name: migrate, status: Synced, hook: true}]}}`,
			want: []string{"apps/v1 Deployment shop/web"},
		},
		"a HelmRelease before its first release": {
			of: "hr/a/b", object: "{metadata: {name: b, namespace: a}, spec: {targetNamespace: t}}", want: []string{"release a/t-b"},
		},
		"a HelmRelease with releaseName": {
			of: "hr/a/b", object: "{metadata: {name: b, namespace: a}, spec: {targetNamespace: t, storageNamespace: s, releaseName: r}}", want: []string{"release s/r"},
		},
		"a HelmRelease of another cluster": {of: "hr/a/b", object: "{spec: {kubeConfig: {}}}", fault: "another cluster"},
		"an Application": {
			of: "app/a/b",
			object: `{spec: {destination: {server: "https://kubernetes.default.svc"}}, status: {resources: [
				{group: apps, version: v1, kind: Deployment, namespace: shop, name: web, status: Synced}, {version: v1, kind: Namespace, name: shop},
				{group: batch, version: v1, kind: Job, namespace: shop, name: migrate, hook: true}]}}`,
			want: []string{"apps/v1 Deployment shop/web", "v1 Namespace /shop"},
		},
		"an Application with the name of this cluster": {
			of: "app/a/b", object: "{spec: {destination: {name: in-cluster}}, status: {resources: [{version: v1, kind: Namespace, name: shop}]}}", want: []string{"v1 Namespace /shop"},
		},
		"an Application of another cluster": {of: "app/a/b", object: "{spec: {destination: {server: 'https://edge.example'}}}", fault: "another cluster (spec.destination.server: https://edge.example)"},
		"an Application of a named cluster": {of: "app/a/b", object: "{spec: {destination: {name: edge}}}", fault: "another cluster (spec.destination.name: edge)"},
		"an Application that never synced":  {of: "app/a/b", object: "{}", fault: "no inventory yet"},
		"an Application without names":      {of: "app/a/b", object: "{status: {resources: [{kind: X}]}}", fault: "entry 1 of its status.resources"},
	} {
		t.Run(name, func(t *testing.T) {
			of, err := Parse(tt.of)
			if err != nil {
				t.Fatal(err)
			}
			u := &unstructured.Unstructured{}
			text, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(tt.object, "\t", " ")))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &u.Object); err != nil { // As clients do: whole numbers are int64.
				t.Fatal(err)
			}
			contents, err := of.Read(u)
			if err != nil {
				if want := strings.Replace(tt.fault, "ks:", "kustomization/a/b:", 1); tt.fault == "" || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
				return
			}
			var got []string
			for _, ref := range contents.Objects {
				got = append(got, ref.GVK.GroupVersion().String()+" "+ref.GVK.Kind+" "+ref.Namespace+"/"+ref.Name)
			}
			if r := contents.Release; r != nil {
				got = append(got, "release "+r.Namespace+"/"+r.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || tt.fault != "" {
				t.Errorf("%s no fault, want %q", diff, tt.fault)
			}
		})
	}
}
