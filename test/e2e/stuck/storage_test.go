package stuck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Edge case 63: a volume that its driver cannot detach from a node. The test writes the driver's
// error.
func TestStuckVolumeDetach(t *testing.T) {
	c := shared.Cluster(t)
	name := e2etest.Namespace(t, c) // cluster-scoped, with unique names
	const finalizer = "external-attacher/disk-example-com"
	applied(t, c, "", fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s, finalizers: [%[2]s]}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: none
  csi: {driver: disk.example.com, volumeHandle: disk-1}
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: %[1]s, finalizers: [%[2]s]}
spec: {attacher: disk.example.com, nodeName: node-0, source: {persistentVolumeName: %[1]s}}
`, name, finalizer))
	e2etest.Kubectl(t, c, "patch", "volumeattachment/"+name, "--subresource=status", "--type=merge", "-p",
		`{"status":{"attached":true,"detachError":{"message":"volume is busy"}}}`)
	dying(t, c, "volumeattachment/"+name, "persistentvolume/"+name)

	for _, kind := range [][2]string{{"storage.k8s.io/v1", "VolumeAttachment"}, {"v1", "PersistentVolume"}} {
		cause := first(t, why(t, c, kind[0], kind[1], "", name), stuck.VolumeDetachFailed)
		if !strings.Contains(strings.Join(cause.Evidence, " "), "volume is busy") {
			t.Errorf("evidence %q", cause.Evidence)
		}
		verbSays(t, c, stuck.VolumeDetachFailed, kind[1]+"/"+name)
		follow(t, c, cause)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "delete", "volumeattachment/"+name, "persistentvolume/"+name, "--remove-finalizer="+finalizer, "--yes").
		Ends(t, 0).Says(t, "2 deleted")
}

// Edge case 63: a volume whose storage cannot be deleted: Kubernetes deletes such paths only below
// /tmp.
func TestStuckVolumeDeletionFailed(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	const finalizer = "external-provisioner.volume.kubernetes.io/finalizer"
	applied(t, c, ns, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s, finalizers: [%[2]s]}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Delete
  storageClassName: none
  hostPath: {path: /srv/data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, volumeName: %[1]s, resources: {requests: {storage: 1Gi}}}
`, ns, finalizer))
	e2etest.Until(t, "the claim is bound", func() bool {
		return e2etest.Kubectl(t, c, "get", "pvc/data", "-n", ns, "-o", "jsonpath={.status.phase}") == "Bound"
	})
	e2etest.Kubectl(t, c, "delete", "pvc/data", "-n", ns)
	e2etest.Until(t, "its storage cannot be deleted", func() bool {
		return e2etest.Kubectl(t, c, "get", "persistentvolume/"+ns, "-o", "jsonpath={.status.phase}") == "Failed"
	})
	dying(t, c, "persistentvolume/"+ns)
	cause := first(t, why(t, c, "v1", "PersistentVolume", "", ns), stuck.VolumeDeletionFailed)
	if !strings.Contains(strings.Join(cause.Evidence, " "), "only supports /tmp/") {
		t.Errorf("evidence %q", cause.Evidence)
	}
	verbSays(t, c, stuck.VolumeDeletionFailed, "persistentvolume/"+ns)
	follow(t, c, cause)
	e2etest.Plugin(t, c.KubeconfigPath, "delete", "persistentvolume/"+ns, "--remove-finalizer="+finalizer, "--yes").Ends(t, 0)
}
