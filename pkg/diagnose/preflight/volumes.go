package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// volumes reports rollouts that start a second Pod while the first one uses a volume that only one
// Pod or one node can use.
func (v *view) volumes() []event.Remarked {
	var out []event.Remarked
	for _, t := range v.set.fresh() {
		d, ok := deploymentOf(t.of.After)
		if !ok {
			continue
		}
		for _, vol := range t.spec.Volumes {
			if vol.PersistentVolumeClaim == nil {
				continue
			}
			name := vol.PersistentVolumeClaim.ClaimName
			r := event.Remarked{Ref: t.of.Ref}
			if v.contends(&r, t, d, name, v.exclusiveMode(t.of.Ref.Namespace, name)) {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

func (v *view) contends(r *event.Remarked, t template, d *appsv1.Deployment, claim string, mode corev1.PersistentVolumeAccessMode) bool {
	if mode == corev1.ReadWriteOncePod && replicas(d.Spec.Replicas) > 1 {
		r.Code, r.Path = "VolumeInUse", ".spec.replicas"
		r.Text = fmt.Sprintf("PersistentVolumeClaim %s is ReadWriteOncePod: only one of %d Pods can use it, and the others will not be scheduled", text.Excerpt(claim), replicas(d.Spec.Replicas))
		r.Hint = "set replicas to 1, or give each Pod its own claim with a StatefulSet"
		return true
	}
	before, was := deploymentOf(t.of.Before)
	if !was || mode == "" || !holds(before, claim) || d.Spec.Paused || replicas(d.Spec.Replicas) == 0 || !startsFirst(d) {
		return false
	}
	r.Path = ".spec.strategy"
	r.Hint = "set strategy: {type: Recreate}, which deletes the old Pod first"
	if mode == corev1.ReadWriteOncePod {
		r.Code = "VolumeDeadlock"
		r.Text = fmt.Sprintf("this rollout will deadlock: the new Pod waits for PersistentVolumeClaim %s (ReadWriteOncePod), which the old one uses, and RollingUpdate keeps the old one until the new one is ready", text.Excerpt(claim))
		return true
	}
	if before.Status.ReadyReplicas > 1 {
		return false // Pods on one node can share it.
	}
	r.Code = "VolumeShared"
	r.Text = fmt.Sprintf("this rollout starts the new Pod while the old one uses PersistentVolumeClaim %s (ReadWriteOnce): on another node, the new Pod may wait for the volume forever; on the same node, both Pods use it", text.Excerpt(claim))
	return true
}

func holds(d *appsv1.Deployment, claim string) bool {
	if d.Status.Replicas == 0 {
		return false
	}
	for _, vol := range d.Spec.Template.Spec.Volumes {
		if vol.PersistentVolumeClaim != nil && vol.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

func (v *view) exclusiveMode(namespace, claim string) corev1.PersistentVolumeAccessMode {
	ref := diagnose.RefOf("v1", "PersistentVolumeClaim", namespace, claim)
	var u *unstructured.Unstructured
	if o := v.set.find(ref); o != nil {
		u = o.After
	} else if u, _ = v.Get(ref.GVK, namespace, claim); u == nil {
		return ""
	}
	pvc, ok := typedAs[corev1.PersistentVolumeClaim](u)
	if !ok {
		return ""
	}
	return diagnose.ExclusiveMode(pvc)
}

func deploymentOf(u *unstructured.Unstructured) (*appsv1.Deployment, bool) {
	if u == nil || u.GroupVersionKind() != diagnose.KindOf("apps/v1", "Deployment") {
		return nil, false
	}
	return typedAs[appsv1.Deployment](u)
}

func startsFirst(d *appsv1.Deployment) bool {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return false
	}
	share := intstr.FromString("25%")
	surge, unavailable := &share, &share
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		surge, unavailable = cmp.Or(rolling.MaxSurge, surge), cmp.Or(rolling.MaxUnavailable, unavailable)
	}
	more, err := intstr.GetScaledValueFromIntOrPercent(surge, replicas(d.Spec.Replicas), true)
	less, err2 := intstr.GetScaledValueFromIntOrPercent(unavailable, replicas(d.Spec.Replicas), false)
	return err == nil && err2 == nil && less == 0 && more > 0 // If both are 0, Kubernetes lets one Pod be unavailable.
}

func replicas(declared *int32) int {
	if declared == nil {
		return 1
	}
	return int(*declared)
}

// The rest of this file is about what a running Pod has in addition to its template. Controllers
// create claims and set labels. Webhooks add containers and variables.

func (v *view) makesClaim(ref object.Ref) bool {
	for _, t := range v.set.templates[ref.Namespace] {
		if claimsOf(t.of.After, t.spec, ref.Name) {
			return true
		}
	}
	live, sure := v.List(diagnose.KindOf("apps/v1", "StatefulSet"), ref.Namespace)
	return !sure || slices.ContainsFunc(live, func(u *unstructured.Unstructured) bool {
		t, ok := templateOf(u)
		return !ok || claimsOf(u, t.spec, ref.Name)
	})
}

func claimsOf(u *unstructured.Unstructured, spec *corev1.PodSpec, name string) bool {
	for _, claim := range ownClaims(u) {
		rest, ok := strings.CutPrefix(name, claim+"-"+u.GetName()+"-")
		if ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return slices.ContainsFunc(spec.Volumes, func(vol corev1.Volume) bool {
		return vol.Ephemeral != nil && strings.HasPrefix(name, u.GetName()+"-") && strings.HasSuffix(name, "-"+vol.Name)
	})
}

// ownClaims returns the names of the templates from which a StatefulSet creates claims for each
// Pod. The claims replace volumes of the same name in its Pod template.
func ownClaims(u *unstructured.Unstructured) []string {
	if u.GroupVersionKind().GroupKind().String() != "StatefulSet.apps" {
		return nil
	}
	var names []string
	for _, claim := range diagnose.Items(u, "spec", "volumeClaimTemplates") {
		names = append(names, diagnose.Text(&unstructured.Unstructured{Object: claim}, "metadata", "name"))
	}
	return names
}

func setByControllers() []string {
	return []string{
		"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "controller-revision-hash",
		"pod-template-hash", "pod-template-generation", "controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
		"batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/cronjob-scheduled-timestamp",
	}
}

// maySelect reports whether the selector matches the template's Pods, or may match them once
// controllers or programs have set labels.
func (s *set) maySelect(selector map[string]string, t template) bool {
	if labels.SelectorFromSet(selector).Matches(labels.Set(t.labels)) {
		return true
	}
	shared := false
	for key, want := range selector {
		has, declared := t.labels[key]
		switch {
		case declared && has != want:
			return false
		case declared, slices.Contains(setByControllers(), key):
			shared = true
		case !s.writesPods(t):
			return false
		}
	}
	return shared
}

// writesPods reports whether a program in the template may change the labels of Pods.
func (s *set) writesPods(t template) bool {
	account := t.spec.ServiceAccountName
	return account != "" && account != "default" || slices.ContainsFunc(s.objects, func(o Object) bool {
		return s.allows(&o, t.of.Ref.Namespace, "pods", "patch", "update")
	})
}

func (t template) isInjected() bool {
	for _, words := range []map[string]string{t.labels, t.annotations} {
		for key := range words {
			if strings.Contains(strings.ToLower(key), "inject") {
				return true
			}
		}
	}
	return false
}

// Webhooks inject variables with such names, for example for cloud identities.
func isInjectedVariable(name string) bool {
	return slices.ContainsFunc([]string{"AWS_", "AZURE_", "GOOGLE_", "OTEL_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// The port may belong to the proxy of a service mesh.
func isInjectedPort(name string) bool {
	return slices.ContainsFunc([]string{"envoy", "istio", "linkerd", "dapr", "kuma", "consul", "proxy"}, func(part string) bool { return strings.Contains(name, part) })
}

func hasCredentials(registry string) bool {
	return slices.ContainsFunc([]string{".amazonaws.com", ".amazonaws.com.cn", ".gcr.io", ".pkg.dev", ".azurecr.io", ".azurecr.cn", ".azurecr.us", ".aliyuncs.com", ".ocir.io", ".icr.io"},
		func(suffix string) bool { return strings.HasSuffix(registry, suffix) })
}

// noDefaults reports whether the namespace certainly has no LimitRange.
func (v *view) noDefaults(namespace string) bool {
	ranges, sure := v.List(diagnose.KindOf("v1", "LimitRange"), namespace)
	return sure && len(ranges) == 0 && len(v.set.ofKind("", "LimitRange", namespace)) == 0
}

// mayResize reports whether something may change the requests of Pods when they are created.
func (v *view) mayResize(t template) bool {
	gvk := schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"}
	live, sure := v.List(gvk, t.of.Ref.Namespace)
	for _, o := range v.set.ofKind(gvk.Group, gvk.Kind, t.of.Ref.Namespace) {
		live = append(live, o.After)
	}
	return !sure || t.isInjected() || slices.ContainsFunc(live, func(u *unstructured.Unstructured) bool {
		return diagnose.Text(u, "spec", "targetRef", "name") == t.of.Ref.Name
	})
}
