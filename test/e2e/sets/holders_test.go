package sets_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Deleting a namespace or a definition deletes its contents. An object that another set or a
// release claims is never pruned, so its container is not, either, whatever --prune-allow says: not
// by a prune, and not with the set.
func TestNamespaceAndDefinitionInUseAreKept(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	home, inner := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
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
	rest := e2etest.ConfigMaps(6, 1, "1")
	e2etest.Plugin(t, c.KubeconfigPath, applySet(home, e2etest.File(t, definition+space+rest))...).Ends(t, 0)
	// Another set has an object in the namespace, and a release one of the kind.
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", inner, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1")), "--apply-set=other").Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", inner, "-f", e2etest.File(t, "{apiVersion: "+group+"/v1, kind: Gizmo, metadata: {name: theirs, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: prod}}}")).Ends(t, 0)

	allow := []string{"--prune-allow=Namespace", "--prune-allow=CustomResourceDefinition"}
	diff := append([]string{"diff", "-n", home, "-f", e2etest.File(t, rest), "--apply-set=shop", "--prune"}, allow...)
	if r := e2etest.Plugin(t, c.KubeconfigPath, diff...).Ends(t, 1); strings.Contains(r.Stdout.String(), "delete  namespace/") || strings.Contains(r.Stdout.String(), "delete  customresourcedefinition") {
		t.Errorf("diff lists the namespace or the definition to delete: %s", r)
	}
	prune := applySet(home, e2etest.File(t, rest), allow...)
	e2etest.Plugin(t, c.KubeconfigPath, prune...).Ends(t, 0).
		Says(t, "pruned      gizmo."+group+"/ours").
		Says(t, "kept        namespace/"+inner+": it contains configmap/cm-0000 -n "+inner+" of set applyset-").
		Says(t, "kept        customresourcedefinition.apiextensions.k8s.io/"+plural+"."+group+": it contains gizmo."+group+"/theirs -n "+inner+" of Helm release prod/web, which stays")
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"sets", "delete", "shop", "-n", home, "--yes"}, allow...)...).Ends(t, 1).
		Says(t, "namespace/"+inner+": is kept: it contains")
	e2etest.Kubectl(t, c, "get", "configmap/cm-0000", "gizmo."+group+"/theirs", "-n", inner)

	// Once no other tool claims their contents, they are pruned with the rest.
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", "other", "-n", inner, "--yes").Ends(t, 0)
	e2etest.Kubectl(t, c, "delete", "gizmo."+group+"/theirs", "-n", inner)
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"sets", "delete", "shop", "-n", home, "--yes"}, allow...)...).Ends(t, 0).
		Says(t, "deleted      namespace/"+inner)
}

// A volume is kept as long as its claim: the data is the claim's, and each run's deletion of the
// volume would wait for the claim.
func TestVolumeOfAClaimThatStays(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
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
	rest := e2etest.ConfigMaps(3, 1, "1")
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, set+rest), "--wait", "--timeout=30s")...).Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, rest))...).Ends(t, 0).
		Says(t, "kept        persistentvolume/"+ns+": it contains persistentvolumeclaim/data -n "+ns+", which stays")
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, rest), "--prune-allow=PersistentVolumeClaim")...).Ends(t, 0).
		Says(t, "pruned      persistentvolume/"+ns).Says(t, "pruned      persistentvolumeclaim/data")
}
