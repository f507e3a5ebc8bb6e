package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
)

// exclusive are the volumes for which Pods wait and that only one node or Pod can have.
// Their holders are asked for last, for all objects that are explained in one run: which
// volumes count is known only once everything else is.
type exclusive struct {
	// claims are the claims of these volumes, by namespace.
	claims  map[string][]string
	volumes []string
}

func (v VolumeRules) exclusive() *exclusive {
	return diagnose.Once(v.Run, "whose holders are asked for", func() *exclusive {
		return &exclusive{claims: map[string][]string{}}
	})
}

// wantHolders notes a claim whose holder has to be known.
func (v VolumeRules) wantHolders(pvc *corev1.PersistentVolumeClaim) {
	if v.OnlyKnown || pvc.Status.Phase != corev1.ClaimBound {
		return
	}
	held := v.exclusive()
	held.claims[pvc.Namespace] = append(held.claims[pvc.Namespace], pvc.Name)
	held.volumes = append(held.volumes, pvc.Spec.VolumeName)
}

// AskHolders asks who has the volumes that only one node or Pod can have: by one list of
// the Pods of each namespace, and one of the attachments.
func (v VolumeRules) AskHolders() {
	held := v.exclusive()
	for namespace, claims := range held.claims {
		v.Select(holdersIn(namespace), func(u *unstructured.Unstructured) bool {
			p, ok := diagnose.As[corev1.Pod](u) // Most of them are not kept.
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
	return diagnose.Question{Verb: diagnose.List, GVK: rule.Core("Pod"), Namespace: namespace, Kept: "holders"}
}

func attachments() diagnose.Question {
	return diagnose.Question{Verb: diagnose.List, GVK: rule.Storage("VolumeAttachment"), Kept: "held"}
}

// holders returns the Pods that have an exclusive claim, as far as they have been read.
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

// VolumeRules are the rules about claims and volumes, over a view of what is known.
type VolumeRules struct{ *rule.View }

// VolumeRulesOn returns the rules over a view.
func VolumeRulesOn(v *rule.View) VolumeRules { return VolumeRules{View: v} }
