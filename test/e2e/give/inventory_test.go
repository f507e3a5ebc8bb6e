package give_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// toolKinds are the tools' definitions with the fields that are read, and a kind with a version
// that is no longer served.
const toolKinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kustomizations.kustomize.toolkit.fluxcd.io}
spec:
  group: kustomize.toolkit.fluxcd.io
  names: {kind: Kustomization, listKind: KustomizationList, plural: kustomizations, singular: kustomization, shortNames: [ks]}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: helmreleases.helm.toolkit.fluxcd.io}
spec:
  group: helm.toolkit.fluxcd.io
  names: {kind: HelmRelease, listKind: HelmReleaseList, plural: helmreleases, singular: helmrelease, shortNames: [hr]}
  scope: Namespaced
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: argoproj.io
  names: {kind: Application, listKind: ApplicationList, plural: applications, singular: application}
  scope: Namespaced
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.give.example.com}
spec:
  group: give.example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

var widgets = schema.GroupVersionResource{Group: "give.example.com", Version: "v1", Resource: "widgets"}

// toolSite has the definitions.
func toolSite(t *testing.T, namespace string) *site {
	t.Helper()
	s := newSite(t, namespace)
	s.apply(t, "setup", toolKinds)
	s.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd", "--all")
	return s
}

const hotfix = `{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "registry.example/web:hotfix"}]}}}}`

// edited is the Deployment that a tool applied, with an image that a user has set since.
func (s *site) edited(t *testing.T, manager string) {
	t.Helper()
	s.apply(t, manager, web)
	s.kubectl(t, "", "patch", "deploy/web", "--type=strategic", "-p", hotfix, "--field-manager=kubectl-edit")
}

// A Kustomization's inventory is given to its controller, in the versions that the server serves
// now.
func TestInventoryOfKustomization(t *testing.T) {
	s := toolSite(t, "give-ks")
	s.edited(t, "kustomize-controller")
	s.apply(t, "kustomize-controller", "{apiVersion: give.example.com/v1, kind: Widget, metadata: {name: w}, spec: {a: 1}}")
	s.update(t, widgets, "w", "kubectl-edit", `{"spec": {"a": 2}}`)
	s.apply(t, "kustomize-controller", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'give:ks:reader'}}")
	s.apply(t, "flux", `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
status:
  inventory:
    entries:
    - {id: give-ks_web_apps_Deployment, v: v1}
    - {id: give-ks_w_give.example.com_Widget, v: v1alpha1}
    - {id: _give__ks__reader_rbac.authorization.k8s.io_ClusterRole, v: v1}
`)
	before := content(t, s.get(t, deployments, "web"))
	status, out := s.give(t, "--inventory-of=kustomization/give-ks/apps", "--from=kubectl-edit")
	if status != 0 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{
		"given      deployment.apps/web", "given      widget.give.example.com/w", "2 given, 1 unchanged",
		"kustomization/give-ks/apps lists Widget at give.example.com/v1alpha1, which the server no longer serves: these objects are read at give.example.com/v1",
		"the effect on the next run of kustomization/give-ks/apps cannot be shown, because its manifests are not in the cluster; that run will remove the fields received by kustomize-controller unless the manifests set them. " +
			"To show the effect, add -f - and pipe the manifests in: flux build kustomization apps -n give-ks --path=FOLDER",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no %q", want)
		}
	}
	after := s.get(t, deployments, "web")
	if got := fmt.Sprint(owners(after)); got != "[kustomize-controller Apply]" || content(t, after) != before {
		t.Errorf("owners %s\n%s\n%s", got, before, content(t, after))
	}
	if got := fmt.Sprint(owners(s.get(t, widgets, "w"))); got != "[kustomize-controller Apply]" {
		t.Errorf("owners of the widget: %s", got)
	}
}

// Given the manifests of a Kustomization's next run, the report shows its controller's conflicts,
// and fields that it would remove stay with their owner.
func TestInventoryWithManifests(t *testing.T) {
	s := toolSite(t, "give-next")
	s.edited(t, "kustomize-controller")
	s.kubectl(t, "", "label", "deploy/web", "by=hand", "--field-manager=kubectl-edit")
	s.apply(t, "kustomize-controller", "{apiVersion: v1, kind: ConfigMap, metadata: {name: leaving}, data: {a: '1'}}")
	s.update(t, configMaps, "leaving", "kubectl-edit", `{"data": {"a": "2"}}`)
	s.apply(t, "flux", `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
status: {inventory: {entries: [{id: give-next_web_apps_Deployment, v: v1}, {id: give-next_leaving__ConfigMap, v: v1}]}}
`)
	rendered := filepath.Join(t.TempDir(), "rendered.yaml")
	// The Deployment sets no namespace, as in the output of tools that leave it to the destination.
	if err := os.WriteFile(rendered, []byte(web+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: give-next}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	leaving := s.get(t, configMaps, "leaving").GetResourceVersion()
	for _, dryRun := range []string{"server", "none"} {
		status, out := s.give(t, "--inventory-of=ks/give-next/apps", "--from=kubectl-edit", "-f", rendered, "--dry-run="+dryRun)
		if status != 0 {
			t.Errorf("status %d", status)
		}
		for _, want := range []string{
			"kustomize-controller's next apply: 1 conflict before, none after", "registry.example/web:hotfix → registry.example/web:1.0",
			".metadata.labels.by", "the receiver's manifest lacks it, so the receiver's next apply would remove it",
			"configmap/leaving -n give-next: kustomization/give-next/apps lists it, but the manifests of the next run do not contain it: its fields are left alone",
			"1 object in the manifests was skipped: kustomization/give-next/apps does not list it yet",
		} {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
				t.Errorf("no %q", want)
			}
		}
	}
	// Repeated, as by a job: the label stays, which is not an error.
	if status, out := s.give(t, "--inventory-of=ks/give-next/apps", "--from=kubectl-edit", "-f", rendered); status != 0 || !strings.Contains(out, "1 unchanged") {
		t.Errorf("repeated: status %d, want 0 and one unchanged object", status)
	}
	if got := s.get(t, configMaps, "leaving").GetResourceVersion(); got != leaving {
		t.Error("an object that is not in the manifests was written")
	}
	if got := fieldsOf(s.get(t, deployments, "web"), "kubectl-edit Update"); !strings.Contains(got, "f:by") || strings.Contains(got, "f:image") {
		t.Errorf("kubectl-edit owns %s, want f:by and not f:image", got)
	}
	if out, err := s.tryKubectl(t, web, "apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-"); err != nil {
		t.Errorf("the next run: %v: %s", err, out)
	}
}

// A kind that cannot be given is named, and the rest is given.
func TestInventoryFaults(t *testing.T) {
	s := toolSite(t, "give-faults")
	s.edited(t, "kustomize-controller")
	inventory := func(name, entries string) {
		s.apply(t, "flux", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: "+name+"}, "+entries+"}")
	}
	const there = "{id: give-faults_web_apps_Deployment, v: v1}"
	inventory("absent", "status: {inventory: {entries: ["+there+", {id: give-faults_gone__ConfigMap, v: v1}]}}")
	inventory("unserved", "status: {inventory: {entries: ["+there+", {id: give-faults_x_gone.example.com_Thing, v: v1}]}}")
	inventory("new", "spec: {}")
	inventory("remote", "spec: {kubeConfig: {secretRef: {name: edge}}}")
	for name, tt := range map[string]struct {
		args   []string
		status int
		says   []string
	}{
		"a deleted object": {
			args: []string{"--inventory-of=ks/give-faults/absent"}, status: 2, says: []string{"given deployment.apps/web", `configmaps "gone" not found`},
		},
		"a removed kind": {
			args: []string{"--inventory-of=ks/give-faults/unserved", "--dry-run=server"}, status: 2,
			says: []string{"kustomization/give-faults/unserved lists thing.gone.example.com/x", "the server does not serve the kind Thing"},
		},
		"no inventory yet": {args: []string{"--inventory-of=ks/give-faults/new"}, status: 2, says: []string{"kustomization/give-faults/new: it has no inventory yet"}},
		"another cluster":  {args: []string{"--inventory-of=ks/give-faults/remote"}, status: 2, says: []string{"another cluster (spec.kubeConfig)", "--context"}},
		"no such Kustomization": {
			args: []string{"--inventory-of=ks/give-faults/abset"}, status: 2, says: []string{`kustomization/give-faults/abset:`, "not found", "absent"},
		},
		"no right to read it": {
			args: []string{"--inventory-of=ks/give-faults/absent", "--as=stranger"}, status: 2,
			says: []string{"kustomization/give-faults/absent:", `cannot get resource "kustomizations"`},
		},
		"a typo":               {args: []string{"--inventory-of=deployment/a/b"}, status: 2, says: []string{"deployment has no known inventory"}},
		"together with a name": {args: []string{"deploy/web", "--inventory-of=ks/a/b"}, status: 2, says: []string{"can only be combined with -f"}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out := s.give(t, append(tt.args, "--from=kubectl-edit")...)
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			for _, want := range tt.says {
				if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
					t.Errorf("no %q", want)
				}
			}
		})
	}
}

// A HelmRelease refers to a stored release with its manifest: the next apply of helm-controller is
// shown, and then has no conflict.
func TestInventoryOfHelmRelease(t *testing.T) {
	s := toolSite(t, "give-hr")
	labelled := strings.Replace(web, "metadata: {name: web}",
		"metadata: {name: web, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web-1a2b, meta.helm.sh/release-namespace: give-hr}}", 1)
	s.apply(t, "helm-controller", labelled)
	s.kubectl(t, "", "patch", "deploy/web", "--type=strategic", "-p", hotfix, "--field-manager=kubectl-edit")
	s.kubectl(t, "", "label", "deploy/web", "by=hand", "--field-manager=kubectl-edit")
	s.apply(t, "helm-controller", releaseSecret(t, "give-hr", "web-1a2b", 3, web))
	s.apply(t, "flux", `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec: {releaseName: not-this-one}
status: {storageNamespace: give-hr, history: [{name: web-1a2b, namespace: give-hr, version: 3}]}
`)
	if out, err := s.tryKubectl(t, labelled, "apply", "--server-side", "--field-manager=helm-controller", "-f", "-"); err == nil {
		t.Fatalf("the apply before give has no conflict: %s", out)
	}
	status, out := s.give(t, "--inventory-of=hr/give-hr/web", "--from=kubectl-edit")
	if status != 0 || !strings.Contains(out, "helm-controller's next apply of the stored manifest (revision 3): 1 conflict before, none after") {
		t.Errorf("status %d", status)
	}
	if got := fieldsOf(s.get(t, deployments, "web"), "kubectl-edit Update"); !strings.Contains(got, "f:by") || strings.Contains(got, "f:image") {
		t.Errorf("kubectl-edit owns %s, want only the label that is not in the chart", got)
	}
	if out, err := s.tryKubectl(t, labelled, "apply", "--server-side", "--field-manager=helm-controller", "-f", "-"); err != nil {
		t.Errorf("the next apply: %v: %s", err, out)
	}
}

// releaseSecret is a release's revision in Helm's format.
func releaseSecret(t *testing.T, namespace, name string, revision int, manifest string) string {
	t.Helper()
	return releaseSecretIn(t, namespace, name, revision, manifest, "deployed")
}

func releaseSecretIn(t *testing.T, namespace, name string, revision int, manifest, state string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"name": name, "namespace": namespace, "version": revision, "manifest": manifest, "apply_method": "ssa", "info": map[string]any{"status": state},
	})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
type: helm.sh/release.v1
metadata: {name: sh.helm.release.v1.%[1]s.v%[2]d, labels: {owner: helm, name: %[1]s, version: "%[2]d", status: %[4]s}}
stringData: {release: %[3]q}
`, name, revision, base64.StdEncoding.EncodeToString(packed.Bytes()), state)
}

// The newest of several revisions counts, finished or not. A damaged one is reported, and not
// replaced by an older one.
func TestRevisions(t *testing.T) {
	s := newSite(t, "give-revisions")
	config := func(keys string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {" + keys + "}\n"
	}
	s.apply(t, "helm", strings.Replace(config("a: '1'"), "metadata: {name: settings}",
		"metadata: {name: settings, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: give-revisions}}", 1))
	s.update(t, configMaps, "settings", "kubectl-edit", `{"data": {"b": "2", "c": "3"}}`)
	s.apply(t, "setup", releaseSecret(t, s.namespace, "web", 9, config("a: '1'")))
	s.apply(t, "setup", releaseSecret(t, s.namespace, "web", 10, config("a: '1', b: '2'")))
	give := func(how ...string) (int, string) {
		status, out := s.give(t, append([]string{"--helm-release=give-revisions/web", "--from=kubectl-edit"}, how...)...)
		return status, strings.Join(strings.Fields(out), " ")
	}
	if status, out := give(); status != 0 || !strings.Contains(out, "moved .data.b from kubectl-edit") || !strings.Contains(out, "left .data.c") {
		t.Errorf("status %d", status)
	}
	s.apply(t, "setup", releaseSecretIn(t, s.namespace, "web", 11, config("a: '1', c: '3'"), "pending-upgrade"))
	if status, out := give(); status != 0 || !strings.Contains(out, "moved .data.c from kubectl-edit") || !strings.Contains(out, "Helm has not finished revision 11 (pending-upgrade)") {
		t.Errorf("status %d", status)
	}
	damaged := regexp.MustCompile(`release: "[^"]*"`)
	for name, release := range map[string]string{
		"no base64": "%%%", "half": "H4sIAAAAAAAC", "nothing": "", "not compressed, not JSON": "aHVudGVyMg==",
		"another release": regexp.MustCompile(`release: "([^"]*)"`).FindStringSubmatch(releaseSecret(t, s.namespace, "api", 12, config("a: '1'")))[1],
	} {
		s.apply(t, "setup", damaged.ReplaceAllString(releaseSecret(t, s.namespace, "web", 12, ""), fmt.Sprintf("release: %q", release)))
		status, out := give("--dry-run=server")
		if status != 2 || !strings.Contains(out, "revision 12 (secret/sh.helm.release.v1.web.v12 -n give-revisions) cannot be read: ") || strings.Contains(out, "hunter2") {
			t.Errorf("%s: status %d", name, status)
		}
	}
}

// The objects in an Argo CD Application are given to its controller, except for its hooks.
func TestInventoryOfApplication(t *testing.T) {
	s := toolSite(t, "give-argo")
	s.edited(t, "argocd-controller")
	s.apply(t, "argocd", `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop}
spec: {destination: {server: "https://kubernetes.default.svc"}}
status:
  resources:
  - {group: apps, version: v1, kind: Deployment, namespace: give-argo, name: web, status: OutOfSync}
  - {group: batch, version: v1, kind: Job, namespace: give-argo, name: migrate, hook: true}
`)
	const image = `.spec.template.spec.containers[name="web"].image`
	status, out := s.give(t, "--inventory-of=application/give-argo/shop", image)
	if status != 0 || strings.Contains(out, "migrate") || strings.Contains(out, "removes what") || !strings.Contains(out, "argocd app manifests give-argo/shop") {
		t.Errorf("status %d", status)
	}
	after := s.get(t, deployments, "web")
	if got := fieldsOf(after, "argocd-controller Apply"); !strings.Contains(got, "f:image") || fieldsOf(after, "kubectl-edit Update") != "" {
		t.Errorf("owners %v, argocd-controller has %s", owners(after), got)
	}
}
