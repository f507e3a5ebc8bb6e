package stuck

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// A claim cannot go away while a Pod uses it (edge case 63).
func (d *diagnosis) claim(u *unstructured.Unstructured, finalizer string) []finding {
	objects, sure := d.List(diagnose.KindOf("v1", "Pod"), u.GetNamespace())
	var users []*unstructured.Unstructured
	for _, o := range objects {
		if p, ok := diagnose.As[corev1.Pod](o); ok && uses(p, u.GetName()) {
			users = append(users, o)
		}
	}
	switch {
	case len(users) > 0:
		return d.inUse(u, users)
	case !sure:
		return nil
	default:
		return d.builtIn(u, finalizer, "pods to stop using the claim, but none uses it any more")
	}
}

// Once a Pod is assigned to a node, it uses its claims until it is deleted, even after it has
// finished.
func uses(p corev1.Pod, claim string) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim ||
			v.Ephemeral != nil && p.Name+"-"+v.Name == claim {
			return true
		}
	}
	return false
}

func (d *diagnosis) inUse(u *unstructured.Unstructured, users []*unstructured.Unstructured) []finding {
	var found []finding
	var names []string
	for _, p := range users {
		names = append(names, diagnose.Name(object.RefOf(p)))
		if diagnose.Terminating(p) {
			found = append(found, d.causes(p)...)
		}
	}
	first := object.RefOf(users[0])
	f := finding{rank: rankHeld, Cause: event.Cause{
		Code:      ClaimInUse,
		Message:   "the claim is in use by " + text.List(names, 3) + ", and will go away once no pod uses it",
		BlockedBy: first,
	}}
	if phase := diagnose.Text(users[0], "status", "phase"); phase == "Succeeded" || phase == "Failed" {
		f.Evidence = append(f.Evidence, diagnose.Name(first)+" has finished ("+phase+"), but holds the claim until the pod is deleted")
	}
	f.Evidence = append(f.Evidence, diagnose.Name(first)+" is on node "+text.Excerpt(diagnose.Text(users[0], "spec", "nodeName"))+" and mounts it")
	f.Next, f.Risk = d.stopping(users[0])
	if len(found) > 0 && len(found) >= len(users) {
		f.rank = rankWaiting
	}
	return append(found, f)
}

// stopping returns the command that removes a Pod for good.
func (d *diagnosis) stopping(pod *unstructured.Unstructured) (next, risk string) {
	ref := object.RefOf(pod)
	owner := metav1.GetControllerOf(pod)
	if owner != nil && owner.Kind == "ReplicaSet" {
		set, _ := d.Get(diagnose.KindOf(owner.APIVersion, owner.Kind), ref.Namespace, owner.Name)
		if set != nil && metav1.GetControllerOf(set) != nil {
			owner = metav1.GetControllerOf(set)
		}
	}
	if owner == nil {
		return command.Kubectl("delete") + " " + diagnose.On(ref), "deletes the pod"
	}
	by := diagnose.RefOf(owner.APIVersion, owner.Kind, ref.Namespace, owner.Name)
	switch owner.Kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
		return command.Kubectl("scale") + " " + diagnose.On(by) + " --replicas=0", "stops all pods of " + diagnose.Name(by)
	default:
		return command.Kubectl("delete") + " " + diagnose.On(by), "deletes " + diagnose.Name(by) + " and all its pods"
	}
}

// A volume cannot go away while it is bound (k/k#69697).
func (d *diagnosis) volume(u *unstructured.Unstructured, finalizer string) []finding {
	pv, ok := diagnose.As[corev1.PersistentVolume](d.Whole(u))
	if !ok {
		return nil
	}
	var found []finding
	bound := pv.Spec.ClaimRef
	if bound == nil {
		return append(found, d.builtIn(u, finalizer, "the volume to be unbound, which it already is")...)
	}
	claim, sure := d.Get(diagnose.KindOf("v1", "PersistentVolumeClaim"), bound.Namespace, bound.Name)
	if claim == nil || claim.GetUID() != bound.UID {
		if sure {
			found = append(found, d.builtIn(u, finalizer, "the volume to be unbound: its claim is gone")...)
		}
		return found
	}
	ref := object.RefOf(claim)
	f := finding{rank: rankHeld, Cause: event.Cause{
		Code:      VolumeBound,
		Message:   "the volume is bound to " + diagnose.Name(ref) + ", and can go away only after the claim",
		Evidence:  []string{"reclaim policy " + text.Excerpt(string(pv.Spec.PersistentVolumeReclaimPolicy))},
		Next:      command.Kubectl("k8sconnect", "delete") + " " + diagnose.On(ref),
		Risk:      "deletes the claim and, with the reclaim policy Delete, its data too",
		BlockedBy: ref,
	}}
	if diagnose.Terminating(claim) {
		below := d.causes(claim)
		if len(below) > 0 {
			f.rank = rankWaiting
		}
		f.Next, f.Risk = command.Kubectl("k8sconnect", "stuck")+" "+diagnose.On(ref), ""
		found = append(found, below...)
	}
	return append(found, f)
}

// storage explains a volume whose driver has failed or has not finished.
func (d *diagnosis) storage(u *unstructured.Unstructured) []finding {
	if !diagnose.IsKind(u, "", "PersistentVolume") {
		return nil
	}
	var found []finding
	pv, _ := diagnose.As[corev1.PersistentVolume](d.Whole(u))
	if message := pv.Status.Message; message != "" {
		found = append(found, finding{rank: rankBroken, Cause: event.Cause{
			Code:     VolumeDeletionFailed,
			Message:  "its driver could not delete the storage behind it",
			Evidence: []string{"status.message: " + text.Excerpt(message)},
			Next:     command.Kubectl("describe") + " " + diagnose.On(object.RefOf(u)),
			Risk:     "storage that the driver does not delete is left behind, and keeps costing money",
		}})
	}
	return append(found, d.attached(u)...)
}

func (d *diagnosis) attached(u *unstructured.Unstructured) []finding {
	attachments, _ := d.List(diagnose.KindOf("storage.k8s.io/v1", "VolumeAttachment"), "")
	var found []finding
	for _, o := range attachments {
		va, ok := diagnose.As[storagev1.VolumeAttachment](o)
		if !ok || va.Spec.Source.PersistentVolumeName == nil || *va.Spec.Source.PersistentVolumeName != u.GetName() {
			continue
		}
		ref := object.RefOf(o)
		f := finding{rank: rankHeld, Cause: event.Cause{
			Code:      VolumeAttached,
			Message:   "the volume is attached to node " + text.Excerpt(va.Spec.NodeName) + " (" + diagnose.Name(ref) + ")",
			Next:      command.Kubectl("describe") + " " + diagnose.On(ref),
			BlockedBy: ref,
		}}
		found = append(found, f)
		found = append(found, d.detaching(o, va)...)
	}
	return found
}

func (d *diagnosis) attachment(u *unstructured.Unstructured) []finding {
	if !diagnose.IsKind(u, "storage.k8s.io", "VolumeAttachment") {
		return nil
	}
	live := d.Whole(u)
	va, ok := diagnose.As[storagev1.VolumeAttachment](live)
	if !ok {
		return nil
	}
	return d.detaching(live, va)
}

func (d *diagnosis) detaching(u *unstructured.Unstructured, va storagev1.VolumeAttachment) []finding {
	ref := object.RefOf(u)
	var found []finding
	if va.Status.DetachError != nil {
		found = append(found, finding{rank: rankBroken, Cause: event.Cause{
			Code:      VolumeDetachFailed,
			Message:   "the driver " + text.Excerpt(va.Spec.Attacher) + " could not detach the volume from node " + text.Excerpt(va.Spec.NodeName),
			Evidence:  []string{"detachError: " + text.Excerpt(va.Status.DetachError.Message)},
			Next:      command.Kubectl("describe") + " " + diagnose.On(ref),
			BlockedBy: ref,
		}})
	}
	if n := d.node(va.Spec.NodeName); n.code != "" {
		found = append(found, finding{rank: rankBroken, Cause: event.Cause{
			Code:      n.code,
			Message:   "the volume is attached to node " + text.Excerpt(va.Spec.NodeName) + ", which " + n.how,
			Evidence:  n.evidence,
			Next:      n.advice(va.Spec.NodeName),
			Risk:      n.risk(),
			BlockedBy: diagnose.RefOf("v1", "Node", "", va.Spec.NodeName),
		}})
	}
	return found
}
