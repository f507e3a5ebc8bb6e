package pod

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// claimNames returns the names of a Pod's claims, including those of ephemeral volumes.
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
	return rule.Distinct(names)
}

// ClaimsOf explains why a Pod waits for its claims.
func (v VolumeRules) ClaimsOf(p *corev1.Pod) []rule.Finding {
	var found []rule.Finding
	for _, claim := range claimNames(p) {
		r := diagnose.RefOf("v1", "PersistentVolumeClaim", p.Namespace, claim)
		u, sure := v.Read(r)
		if u == nil && sure {
			found = append(found, rule.Of(p, rule.Root, event.Cause{
				Code:      "ClaimMissing",
				Message:   "mounts PersistentVolumeClaim " + claim + ", which does not exist",
				Evidence:  []string{rule.Name(r) + " is not found"},
				Next:      rule.Kubectl(p.Namespace, "get", "persistentvolumeclaims"),
				BlockedBy: r,
			}))
			continue
		}
		pvc, ok := rule.As[corev1.PersistentVolumeClaim](v.View, u)
		if !ok {
			continue
		}
		for _, f := range v.Claim(pvc) {
			if f.Code != "WaitForFirstConsumer" { // This Pod is the consumer.
				found = append(found, f)
			}
		}
	}
	return found
}

// Claim explains why a claim has no volume.
func (v VolumeRules) Claim(pvc *corev1.PersistentVolumeClaim) []rule.Finding {
	r := diagnose.RefOf("v1", "PersistentVolumeClaim", pvc.Namespace, pvc.Name)
	c := event.Cause{BlockedBy: r, Next: rule.Describe(r)}
	switch {
	case pvc.DeletionTimestamp != nil:
		c.Code, c.Message = "ClaimTerminating", "is being deleted"
		c.Evidence = []string{"finalizers: " + text.List(pvc.Finalizers, 3)}
	case pvc.Status.Phase == corev1.ClaimLost:
		c = v.lostClaim(pvc, c)
	case pvc.Status.Phase == corev1.ClaimBound:
		return nil
	default:
		c = v.unbound(pvc, c)
	}
	return []rule.Finding{{Cause: c, Rank: rule.Root, Who: r.String(), Noun: "PersistentVolumeClaim"}}
}

// lostClaim explains the phase Lost. Kubernetes sets it if the volume is gone, and also if the volume
// belongs to another claim.
func (v VolumeRules) lostClaim(pvc *corev1.PersistentVolumeClaim, c event.Cause) event.Cause {
	volume := text.Excerpt(pvc.Spec.VolumeName)
	c.Code, c.Message = "ClaimLost", "has lost its PersistentVolume "+volume
	c.Evidence = append([]string{"phase Lost"}, rule.Quoted(v.Warning(pvc, "ClaimLost", "ClaimMisbound"))...)
	c.BlockedBy = diagnose.RefOf("v1", "PersistentVolume", "", pvc.Spec.VolumeName)
	u, sure := v.Read(c.BlockedBy)
	pv, there := rule.As[corev1.PersistentVolume](v.View, u)
	switch {
	case !there && sure:
		c.Message += ", which no longer exists"
	case !there:
	case pv.Spec.ClaimRef != nil && pv.Spec.ClaimRef.UID != pvc.UID:
		holder := diagnose.RefOf("v1", "PersistentVolumeClaim", pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)
		c.Message = "cannot use PersistentVolume " + volume + ", which exists, but is bound to " + rule.Name(holder)
		if holder.Name == pvc.Name && holder.Namespace == pvc.Namespace {
			c.Message = "cannot use PersistentVolume " + volume + ", which exists, but is bound to an earlier claim of the same name"
		}
		c.Evidence = append(c.Evidence, "its claimRef has the UID "+text.Excerpt(string(pv.Spec.ClaimRef.UID))+", not "+text.Excerpt(string(pvc.UID)))
	default:
		c.Message = "has lost its PersistentVolume " + volume + "; a volume of that name exists, but it is not bound to this claim"
	}
	return c
}

func (v VolumeRules) unbound(pvc *corev1.PersistentVolumeClaim, c event.Cause) event.Cause {
	c.Evidence = []string{"phase " + text.Excerpt(cmp.Or(string(pvc.Status.Phase), "not set"))}
	e := v.Warning(pvc, "ProvisioningFailed", "FailedBinding", "VolumeMismatch")
	c.Evidence = append(c.Evidence, rule.Quoted(e)...)
	class, ok := v.classOf(pvc)
	switch {
	case pvc.Spec.VolumeName != "":
		c.Code, c.Message = "ClaimUnbound", "requests PersistentVolume "+pvc.Spec.VolumeName+", but is not bound to it"
		c.Next = rule.Kubectl("", "get", "persistentvolumes")
		c.BlockedBy = diagnose.RefOf("v1", "PersistentVolume", "", pvc.Spec.VolumeName)
		if v.Absent(c.BlockedBy) {
			c.Evidence = append(c.Evidence, "PersistentVolume "+pvc.Spec.VolumeName+" does not exist")
		}
	case !ok: // The class could not be read.
		c.Code, c.Message = "ClaimUnbound", "is not bound to a volume"
	case class.ref.Name == "":
		c.Code, c.Message = "NoStorageClass", "has no storage class, there is no default class, and no PersistentVolume fits"
		c.Next = rule.Kubectl("", "get", "storageclasses")
	case class.class == nil:
		c.Code, c.Message = "StorageClassMissing", "requests StorageClass "+class.ref.Name+", which does not exist"
		c.Next = rule.Kubectl("", "get", "storageclasses")
		c.BlockedBy = class.ref
	case class.class.Provisioner == "kubernetes.io/no-provisioner":
		c.Code, c.Message = "NoVolume", "waits for a matching PersistentVolume; StorageClass "+class.ref.Name+" does not create any"
		c.Next = rule.Kubectl("", "get", "persistentvolumes")
	case e != nil:
		c.Code, c.Message = "ProvisioningFailed", "its volume could not be created by "+text.Excerpt(class.class.Provisioner)
	case class.class.VolumeBindingMode != nil && *class.class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer && pvc.Annotations[selectedNode] == "":
		c.Code, c.Message = "WaitForFirstConsumer", "gets no volume until a Pod that mounts the claim is scheduled"
		c.Evidence = []string{"volumeBindingMode of StorageClass " + class.ref.Name + " is WaitForFirstConsumer"}
	default:
		provisioner := text.Excerpt(cmp.Or(pvc.Annotations[provisionerOf], class.class.Provisioner))
		c.Code, c.Message = "NoProvisioner", "waits for "+provisioner+" to create its volume, with no sign of progress: is that provisioner installed and running?"
		c.Evidence = []string{"provisioner of StorageClass " + class.ref.Name + " is " + provisioner}
		c.Next = rule.Kubectl("", "get", "csidrivers,pods", "-A")
		c.BlockedBy = class.ref
	}
	return c
}

// The scheduler and the volume controller set these annotations.
const (
	selectedNode  = "volume.kubernetes.io/selected-node"
	provisionerOf = "volume.kubernetes.io/storage-provisioner"
)

// ref has no name if the claim has no class; class is nil if the class does not exist.
type claimClass struct {
	ref   object.Ref
	class *storagev1.StorageClass
}

func (v VolumeRules) classOf(pvc *corev1.PersistentVolumeClaim) (claimClass, bool) {
	// The server fills in the default class as soon as there is one. It never looks for a class
	// named "".
	if pvc.Spec.StorageClassName == nil || *pvc.Spec.StorageClassName == "" {
		return claimClass{}, true
	}
	r := diagnose.RefOf("storage.k8s.io/v1", "StorageClass", "", *pvc.Spec.StorageClassName)
	u, sure := v.Read(r)
	class, ok := rule.As[storagev1.StorageClass](v.View, u)
	if !ok {
		return claimClass{ref: r}, sure
	}
	return claimClass{ref: r, class: class}, true
}

// exclusive lists the claims and volumes that only one node or one Pod can use. Their holders are
// read last, because other answers show which volumes matter.
type exclusive struct {
	claims  map[string][]string
	volumes []string
}

func (v VolumeRules) exclusive() *exclusive {
	return diagnose.Once(v.Run, "exclusive claims and volumes", func() *exclusive {
		return &exclusive{claims: map[string][]string{}}
	})
}

func (v VolumeRules) wantHolders(pvc *corev1.PersistentVolumeClaim) {
	if v.OnlyKnown || pvc.Status.Phase != corev1.ClaimBound {
		return
	}
	held := v.exclusive()
	held.claims[pvc.Namespace] = append(held.claims[pvc.Namespace], pvc.Name)
	held.volumes = append(held.volumes, pvc.Spec.VolumeName)
}

// AskHolders reads the Pods that hold exclusive volumes, with one list of Pods for each namespace
// and one list of attachments.
func (v VolumeRules) AskHolders() {
	held := v.exclusive()
	for namespace, claims := range held.claims {
		v.Select(holdersIn(namespace), func(u *unstructured.Unstructured) bool {
			p, ok := diagnose.As[corev1.Pod](u) // Few Pods are kept, so do not cache the conversion.
			return ok && slices.ContainsFunc(claimNames(&p), func(name string) bool { return slices.Contains(claims, name) })
		})
	}
	if len(held.claims) == 0 {
		return
	}
	v.Select(attachments(), func(u *unstructured.Unstructured) bool {
		return slices.Contains(held.volumes, diagnose.Text(u, "spec", "source", "persistentVolumeName"))
	})
}

func holdersIn(namespace string) diagnose.Question {
	return diagnose.Question{Verb: diagnose.List, GVK: diagnose.KindOf("v1", "Pod"), Namespace: namespace, Kept: "holders"}
}

func attachments() diagnose.Question {
	return diagnose.Question{Verb: diagnose.List, GVK: diagnose.KindOf("storage.k8s.io/v1", "VolumeAttachment"), Kept: "held"}
}

func (v VolumeRules) holders(namespace string) []*corev1.Pod {
	a, _ := v.Known(holdersIn(namespace))
	var pods []*corev1.Pod
	for _, u := range a.Objects {
		if p, ok := rule.As[corev1.Pod](v.View, u); ok {
			pods = append(pods, p)
		}
	}
	return pods
}

func (v VolumeRules) attachments() []*unstructured.Unstructured {
	a, _ := v.Known(attachments())
	return a.Objects
}

// VolumeRules are the rules about claims and volumes.
type VolumeRules struct{ *rule.View }
