package unready

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// claimNames returns the names of the claims that a Pod mounts; those of generic
// ephemeral volumes are named after the Pod.
func claimNames(p *corev1.Pod) []string {
	var names []string
	for _, vol := range p.Spec.Volumes {
		switch {
		case vol.PersistentVolumeClaim != nil:
			names = append(names, vol.PersistentVolumeClaim.ClaimName)
		case vol.Ephemeral != nil:
			names = append(names, p.Name+"-"+vol.Name)
		}
	}
	return stated(names)
}

// claimsOf tells which claims of a Pod keep it waiting.
func (v *view) claimsOf(p *corev1.Pod) []finding {
	var found []finding
	for _, claim := range claimNames(p) {
		r := ref(core("PersistentVolumeClaim"), p.Namespace, claim)
		u, sure := v.read(r)
		if u == nil && sure {
			found = append(found, of(p, root, event.Cause{
				Code:      "ClaimMissing",
				Message:   "mounts PersistentVolumeClaim " + claim + ", which does not exist",
				Evidence:  []string{name(r) + " is not found"},
				Next:      kubectl(p.Namespace, "get", "persistentvolumeclaims"),
				BlockedBy: r,
			}))
			continue
		}
		pvc, ok := as[corev1.PersistentVolumeClaim](u)
		if !ok {
			continue
		}
		for _, f := range v.claim(pvc) {
			if f.Code != "WaitForFirstConsumer" { // This Pod is the consumer.
				found = append(found, f)
			}
		}
	}
	return found
}

// claim tells why a claim has no volume.
func (v *view) claim(pvc *corev1.PersistentVolumeClaim) []finding {
	r := ref(core("PersistentVolumeClaim"), pvc.Namespace, pvc.Name)
	c := event.Cause{BlockedBy: r, Next: describe(r)}
	switch {
	case pvc.DeletionTimestamp != nil:
		c.Code, c.Message = "ClaimTerminating", "is being deleted"
		c.Evidence = []string{"finalizers: " + text.List(pvc.Finalizers, 3)}
	case pvc.Status.Phase == corev1.ClaimLost:
		c.Code, c.Message = "ClaimLost", "has lost its PersistentVolume "+pvc.Spec.VolumeName+", which no longer exists"
		c.Evidence = []string{"phase Lost"}
		c.BlockedBy = ref(core("PersistentVolume"), "", pvc.Spec.VolumeName)
	case pvc.Status.Phase == corev1.ClaimBound:
		return nil
	default:
		c = v.unbound(pvc, c)
	}
	return []finding{{Cause: c, rank: root, who: r.String(), noun: "PersistentVolumeClaim"}}
}

// unbound goes by the claim's storage class.
func (v *view) unbound(pvc *corev1.PersistentVolumeClaim, c event.Cause) event.Cause {
	c.Evidence = []string{"phase " + text.Excerpt(cmp.Or(string(pvc.Status.Phase), "not set"))}
	e := v.warning(pvc, "ProvisioningFailed", "FailedBinding", "VolumeMismatch")
	c.Evidence = append(c.Evidence, quoted(e)...)
	class, ok := v.classOf(pvc)
	switch {
	case pvc.Spec.VolumeName != "":
		c.Code, c.Message = "ClaimUnbound", "asks for PersistentVolume "+pvc.Spec.VolumeName+", and is not bound to it"
		c.Next = kubectl("", "get", "persistentvolumes")
		c.BlockedBy = ref(core("PersistentVolume"), "", pvc.Spec.VolumeName)
		if v.absent(c.BlockedBy) {
			c.Evidence = append(c.Evidence, "PersistentVolume "+pvc.Spec.VolumeName+" does not exist")
		}
	case !ok: // Which class it is, or whether there is one, is not known.
		c.Code, c.Message = "ClaimUnbound", "is not bound to a volume"
	case class.ref.Name == "":
		c.Code, c.Message = "NoStorageClass", "names no storage class, there is no default one, and no PersistentVolume fits it"
		c.Next = kubectl("", "get", "storageclasses")
	case class.class == nil:
		c.Code, c.Message = "StorageClassMissing", "asks for StorageClass "+class.ref.Name+", which does not exist"
		c.Next = kubectl("", "get", "storageclasses")
		c.BlockedBy = class.ref
	case class.class.Provisioner == "kubernetes.io/no-provisioner":
		c.Code, c.Message = "NoVolume", "waits for a PersistentVolume that fits; StorageClass "+class.ref.Name+" creates none on its own"
		c.Next = kubectl("", "get", "persistentvolumes")
	case e != nil:
		c.Code, c.Message = "ProvisioningFailed", "its volume cannot be created by "+text.Excerpt(class.class.Provisioner)
	case class.firstConsumer() && pvc.Annotations[selectedNode] == "":
		c.Code, c.Message = "WaitForFirstConsumer", "gets its volume when a Pod that mounts it is scheduled; none is"
		c.Evidence = []string{"volumeBindingMode of StorageClass " + class.ref.Name + " is WaitForFirstConsumer"}
	default:
		provisioner := text.Excerpt(cmp.Or(pvc.Annotations[provisionerOf], class.class.Provisioner))
		c.Code, c.Message = "NoProvisioner", "waits for "+provisioner+" to create its volume, with no sign of progress: is it installed and running?"
		c.Evidence = []string{"provisioner of StorageClass " + class.ref.Name + " is " + provisioner}
		c.Next = kubectl("", "get", "csidrivers,pods", "-A")
		c.BlockedBy = class.ref
	}
	return c
}

// Set by the scheduler and by the volume controller.
const (
	selectedNode  = "volume.kubernetes.io/selected-node"
	provisionerOf = "volume.kubernetes.io/storage-provisioner"
	defaultClass  = "storageclass.kubernetes.io/is-default-class"
)

// claimClass is the storage class of a claim: without a name if there is none,
// without a class if it does not exist.
type claimClass struct {
	ref   object.Ref
	class *storagev1.StorageClass
}

func (c claimClass) firstConsumer() bool {
	mode := c.class.VolumeBindingMode
	return mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer
}

// classOf returns the storage class of a claim; false where that is not known.
func (v *view) classOf(pvc *corev1.PersistentVolumeClaim) (claimClass, bool) {
	if pvc.Spec.StorageClassName == nil {
		return claimClass{}, true // The server puts the default class into the claim, once there is one.
	}
	if *pvc.Spec.StorageClassName == "" {
		return claimClass{}, true // A class of that name is never looked for.
	}
	r := ref(storage("StorageClass"), "", *pvc.Spec.StorageClassName)
	u, sure := v.read(r)
	class, ok := as[storagev1.StorageClass](u)
	if !ok {
		return claimClass{ref: r}, sure
	}
	return claimClass{ref: r, class: class}, true
}
