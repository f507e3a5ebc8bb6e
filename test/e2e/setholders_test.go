package e2e_test

import (
	"strings"
	"testing"
)

// Deleting a namespace or a definition deletes its contents. An object that another set or a
// release claims is never pruned, so its container is not, either, whatever --prune-allow says: not
// by a prune, and not with the set.
func TestNamespaceAndDefinitionInUseAreKept(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	home, inner := namespace(t, c), namespace(t, c)
	plural := "gizmos"
	group := home + ".example.com"
	definition := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + "." + group + `}
spec:
  group: ` + group + `
  names: {plural: gizmos, singular: gizmo, kind: Gizmo}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
{apiVersion: ` + group + `/v1, kind: Gizmo, metadata: {name: ours}}
---
`
	space := "{apiVersion: v1, kind: Namespace, metadata: {name: " + inner + ", labels: {a: b}}}\n---\n"
	rest := configMaps(6, 1, "1")
	k8sconnect(t, c.KubeconfigPath, applySet(home, file(t, definition+space+rest))...).ends(t, 0)
	// Another set has an object in the namespace, and a release one of the kind.
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", inner, "-f", file(t, configMaps(1, 1, "1")), "--apply-set=other").ends(t, 0)
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", inner, "-f", file(t, "{apiVersion: "+group+"/v1, kind: Gizmo, metadata: {name: theirs, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: prod}}}")).ends(t, 0)

	allow := []string{"--prune-allow=Namespace", "--prune-allow=CustomResourceDefinition"}
	diff := append([]string{"diff", "-n", home, "-f", file(t, rest), "--apply-set=shop", "--prune"}, allow...)
	if r := k8sconnect(t, c.KubeconfigPath, diff...).ends(t, 1); strings.Contains(r.stdout.String(), "delete  namespace/") || strings.Contains(r.stdout.String(), "delete  customresourcedefinition") {
		t.Errorf("diff lists the namespace or the definition to delete: %s", r)
	}
	prune := applySet(home, file(t, rest), allow...)
	k8sconnect(t, c.KubeconfigPath, prune...).ends(t, 0).
		says(t, "pruned      gizmo."+group+"/ours").
		says(t, "kept        namespace/"+inner+": it contains configmap/cm-0000 -n "+inner+" of set applyset-").
		says(t, "kept        customresourcedefinition.apiextensions.k8s.io/"+plural+"."+group+": it contains gizmo."+group+"/theirs -n "+inner+" of Helm release prod/web, which stays")
	k8sconnect(t, c.KubeconfigPath, append([]string{"sets", "delete", "shop", "-n", home, "--yes"}, allow...)...).ends(t, 1).
		says(t, "namespace/"+inner+": is kept: it contains")
	kubectl(t, c, "get", "configmap/cm-0000", "gizmo."+group+"/theirs", "-n", inner)

	// Once no other tool claims their contents, they are pruned with the rest.
	k8sconnect(t, c.KubeconfigPath, "sets", "delete", "other", "-n", inner, "--yes").ends(t, 0)
	kubectl(t, c, "delete", "gizmo."+group+"/theirs", "-n", inner)
	k8sconnect(t, c.KubeconfigPath, append([]string{"sets", "delete", "shop", "-n", home, "--yes"}, allow...)...).ends(t, 0).
		says(t, "deleted      namespace/"+inner)
}

// A volume is kept as long as its claim: the data is the claim's, and each run's deletion of the
// volume would wait for the claim.
func TestVolumeOfAClaimThatStays(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := namespace(t, c)
	set := strings.ReplaceAll(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: NS}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: "", hostPath: {path: /none}, persistentVolumeReclaimPolicy: Retain, claimRef: {namespace: NS, name: data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: "", volumeName: NS}
---
`, "NS", ns)
	rest := configMaps(3, 1, "1")
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, set+rest), "--wait", "--timeout=30s")...).ends(t, 0)
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, rest))...).ends(t, 0).
		says(t, "kept        persistentvolume/"+ns+": it contains persistentvolumeclaim/data -n "+ns+", which stays")
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, rest), "--prune-allow=PersistentVolumeClaim")...).ends(t, 0).
		says(t, "pruned      persistentvolume/"+ns).says(t, "pruned      persistentvolumeclaim/data")
}
