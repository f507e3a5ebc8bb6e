package unready

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// pods lists Pods once, and reads of those that are not ready what they refer to.
func (g *gathering) pods(ctx context.Context, namespace, labels string, mine func(*unstructured.Unstructured) bool) {
	s := sieve{mine: mine}
	g.each(ctx, core("Pod"), object.Selection{Namespace: namespace, Labels: labels}, "", s.keep)
	g.note(func(f *Facts) { f.More += s.more })
	g.details(ctx, s.unready)
}

// sieve keeps those Pods that tell something.
type sieve struct {
	mine    func(*unstructured.Unstructured) bool
	ready   int
	failed  int
	unready []*unstructured.Unstructured
	more    int
}

func (s *sieve) keep(u *unstructured.Unstructured) bool {
	if !s.mine(u) {
		return false
	}
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	switch {
	case phase == string(corev1.PodSucceeded):
		return false
	case phase == string(corev1.PodFailed): // Evicted ones stay around by the thousand.
		s.failed++
		return s.failed <= keepFailed
	case conditionOf(u, string(corev1.PodReady)).Status == "True":
		s.ready++
		return s.ready <= keepReady
	case len(s.unready) < keepUnready:
		s.unready = append(s.unready, u)
		return true
	}
	s.more++
	return false
}

// controlledBy keeps the objects that one of the owners controls.
func controlledBy(owners ...*unstructured.Unstructured) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		return slices.ContainsFunc(owners, func(owner *unstructured.Unstructured) bool { return metav1.IsControlledBy(u, owner) })
	}
}

// details reads what Pods refer to: of a few Pods in each state.
func (g *gathering) details(ctx context.Context, pods []*unstructured.Unstructured) {
	seen := map[string]int{}
	var steps []func()
	for _, u := range pods {
		p, ok := as[corev1.Pod](u)
		if !ok || ready(p) || len(steps) == detail {
			continue
		}
		state := stateOf(p)
		if seen[state]++; seen[state] <= 3 {
			steps = append(steps, func() { g.pod(ctx, p) })
		}
	}
	together(steps...)
}

// stateOf tells Pods apart that wait for different things.
func stateOf(p *corev1.Pod) string {
	words := []string{string(p.Status.Phase), podCondition(p, corev1.PodScheduled).Reason, revision(p)}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting != nil {
			words = append(words, s.Name, s.State.Waiting.Reason)
		}
	}
	return strings.Join(words, " ")
}

// pod reads what one Pod that is not ready refers to.
func (g *gathering) pod(ctx context.Context, p *corev1.Pod) {
	var steps []func()
	if p.Spec.NodeName != "" {
		steps = append(steps, func() { g.read(ctx, ref(core("Node"), "", p.Spec.NodeName)) })
	}
	if p.Spec.NodeName != "" && unstarted(p) {
		for _, r := range references(p.Namespace, &p.Spec) {
			steps = append(steps, func() { g.exists(ctx, r.ref) })
		}
	}
	if pullFails(p) {
		for _, secret := range p.Spec.ImagePullSecrets {
			steps = append(steps, func() { g.exists(ctx, ref(core("Secret"), p.Namespace, secret.Name)) })
		}
	}
	if !started(p) {
		steps = append(steps, func() { g.claims(ctx, p) })
	}
	together(steps...)
}

// unstarted tells whether a container waits for what has to be there before it is
// made.
func unstarted(p *corev1.Pod) bool {
	return waitsFor(p, "ContainerCreating", "PodInitializing", "CreateContainerConfigError") || len(p.Status.ContainerStatuses) == 0
}

func pullFails(p *corev1.Pod) bool { return waitsFor(p, "ErrImagePull", "ImagePullBackOff") }

func waitsFor(p *corev1.Pod, reasons ...string) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
	})
}

// claims reads the claims of a Pod, what they wait for, and who else has them.
func (g *gathering) claims(ctx context.Context, p *corev1.Pod) {
	var steps []func()
	for _, claim := range claimNames(p) {
		steps = append(steps, func() {
			u := g.read(ctx, ref(core("PersistentVolumeClaim"), p.Namespace, claim))
			if u == nil {
				return
			}
			pvc, ok := as[corev1.PersistentVolumeClaim](u)
			switch {
			case !ok:
			case pvc.Status.Phase != corev1.ClaimBound:
				g.claim(ctx, u)
			case accessMode(pvc) != "":
				g.mu.Lock()
				defer g.mu.Unlock()
				g.exclusive = append(g.exclusive, pvc)
			}
		})
	}
	together(steps...)
}

// holders reads who has the volumes that only one node or Pod can have: by one list
// of the Pods of each namespace, and one of what is attached.
func (g *gathering) holders(ctx context.Context) {
	claims := map[string][]string{} // namespace → names
	var volumes []string
	for _, pvc := range g.exclusive {
		claims[pvc.Namespace] = append(claims[pvc.Namespace], pvc.Name)
		volumes = append(volumes, pvc.Spec.VolumeName)
	}
	if len(claims) == 0 {
		return
	}
	steps := []func(){func() {
		g.each(ctx, storage("VolumeAttachment"), object.Selection{}, "", func(u *unstructured.Unstructured) bool {
			volume, _, _ := unstructured.NestedString(u.Object, "spec", "source", "persistentVolumeName")
			return slices.Contains(volumes, volume)
		})
	}}
	for namespace, names := range claims {
		steps = append(steps, func() {
			g.each(ctx, core("Pod"), object.Selection{Namespace: namespace}, "", func(u *unstructured.Unstructured) bool {
				p, ok := as[corev1.Pod](u)
				return ok && slices.ContainsFunc(claimNames(p), func(name string) bool { return slices.Contains(names, name) })
			})
		})
	}
	together(steps...)
}

// claim reads what an unbound claim waits for.
func (g *gathering) claim(ctx context.Context, u *unstructured.Unstructured) {
	pvc, ok := as[corev1.PersistentVolumeClaim](u)
	if !ok || pvc.Status.Phase == corev1.ClaimBound {
		return
	}
	together(func() {
		if class := pvc.Spec.StorageClassName; class != nil {
			g.read(ctx, ref(storage("StorageClass"), "", *class))
		}
	}, func() {
		if volume := pvc.Spec.VolumeName; volume != "" {
			g.exists(ctx, ref(core("PersistentVolume"), "", volume))
		}
	})
}
