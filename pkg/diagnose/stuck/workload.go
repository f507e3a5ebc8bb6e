package stuck

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// workload is a Deployment, a StatefulSet, a DaemonSet, or a pod that is none of
// theirs: what they have in common.
type workload struct {
	ref object.Ref
	// names that it goes by: its own, those of its containers, that of its app.
	names []string
	// account is the service account that its pods run as, in its namespace.
	account string
	// labels of its pods.
	labels   labels.Set
	selector *metav1.LabelSelector
	// wanted and ready are numbers of pods.
	wanted, ready int32
}

func (w workload) called(name string) bool { return slices.Contains(w.names, name) }

// workloads are all that may be a controller.
func (d *diagnosis) workloads() ([]workload, bool) {
	r := once(d, "workloads", d.readWorkloads)
	return r.items, r.sure
}

// result is what was made of lists; sure tells that all of them were read.
type result[T any] struct {
	items []T
	sure  bool
}

func (d *diagnosis) readWorkloads() result[workload] {
	deployments, sure := d.list(kindOf("apps/v1", "Deployment"), "")
	sets, sureOfSets := d.list(kindOf("apps/v1", "StatefulSet"), "")
	daemons, sureOfDaemons := d.list(kindOf("apps/v1", "DaemonSet"), "")
	var found []workload
	for _, u := range slices.Concat(deployments, sets, daemons) {
		if w, ok := workloadOf(u); ok {
			found = append(found, w)
		}
	}
	return result[workload]{found, sure && sureOfSets && sureOfDaemons}
}

func workloadOf(u *unstructured.Unstructured) (workload, bool) {
	w := workload{ref: object.RefOf(u)}
	var template corev1.PodTemplateSpec
	switch u.GetKind() {
	case "Deployment":
		typed, ok := as[appsv1.Deployment](u)
		if !ok {
			return w, false
		}
		template, w.selector = typed.Spec.Template, typed.Spec.Selector
		w.wanted, w.ready = deref(typed.Spec.Replicas), typed.Status.ReadyReplicas
	case "StatefulSet":
		typed, ok := as[appsv1.StatefulSet](u)
		if !ok {
			return w, false
		}
		template, w.selector = typed.Spec.Template, typed.Spec.Selector
		w.wanted, w.ready = deref(typed.Spec.Replicas), typed.Status.ReadyReplicas
	case "DaemonSet":
		typed, ok := as[appsv1.DaemonSet](u)
		if !ok {
			return w, false
		}
		template, w.selector = typed.Spec.Template, typed.Spec.Selector
		w.wanted, w.ready = typed.Status.DesiredNumberScheduled, typed.Status.NumberReady
	default:
		return w, false
	}
	w.labels = template.Labels
	w.account = template.Spec.ServiceAccountName
	if w.account == "" {
		w.account = "default"
	}
	w.names = []string{u.GetName(), template.Labels["app.kubernetes.io/name"], u.GetLabels()["app.kubernetes.io/name"]}
	for _, c := range template.Spec.Containers {
		w.names = append(w.names, c.Name)
	}
	return w, true
}

// deref reads a number of replicas, which is 1 where nothing says otherwise.
func deref(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// state is how a workload does.
type state struct {
	code string
	// how in words, after the workload's name.
	how      string
	evidence []string
	next     string
}

// state finds out whether the workload runs; an empty code says that it does.
func (d *diagnosis) state(w workload) state {
	switch {
	case w.wanted == 0 && w.ref.GVK.Kind == "DaemonSet":
		return state{code: FinalizerControllerScaledDown, how: "runs on no node", next: command.Kubectl("describe") + " " + on(w.ref)}
	case w.wanted == 0:
		return state{
			code: FinalizerControllerScaledDown, how: "is scaled to zero", evidence: []string{"spec.replicas of " + name(w.ref) + " is 0"},
			next: command.Kubectl("scale") + " " + on(w.ref) + " --replicas=1",
		}
	case w.ready > 0:
		return state{evidence: []string{fmt.Sprintf("%s: %d of %d ready", name(w.ref), w.ready, w.wanted)}}
	}
	s := state{
		code: FinalizerControllerNotReady, how: "is not ready",
		evidence: []string{fmt.Sprintf("%s: 0 of %d ready", name(w.ref), w.wanted)},
		next:     command.Kubectl("describe") + " " + on(w.ref),
	}
	for _, p := range d.podsOf(w) {
		d.fault(&s, p)
	}
	return s
}

// podsAs are the pods that run as one of the accounts, each a workload by itself.
func (d *diagnosis) podsAs(accounts []account) (found []workload, sure bool) {
	sure = true
	for _, a := range accounts {
		objects, known := d.list(kindOf("v1", "Pod"), a.namespace)
		sure = sure && known
		for _, p := range all[corev1.Pod](objects) {
			if cmp.Or(p.Spec.ServiceAccountName, "default") != a.name || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue
			}
			w := workload{ref: refOf("v1", "Pod", p.Namespace, p.Name), account: a.name, labels: p.Labels, wanted: 1}
			if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				w.ready = 1
			}
			found = append(found, w)
		}
	}
	return found, sure
}

// podsOf are the pods that the workload's selector selects.
func (d *diagnosis) podsOf(w workload) []corev1.Pod {
	if w.ref.GVK.Kind == "Pod" {
		objects, _ := d.list(w.ref.GVK, w.ref.Namespace)
		return slices.DeleteFunc(all[corev1.Pod](objects), func(p corev1.Pod) bool { return p.Name != w.ref.Name })
	}
	selector, err := metav1.LabelSelectorAsSelector(w.selector)
	if err != nil || selector.Empty() {
		return nil
	}
	objects, _ := d.list(kindOf("v1", "Pod"), w.ref.Namespace)
	return slices.DeleteFunc(all[corev1.Pod](objects), func(p corev1.Pod) bool { return !selector.Matches(labels.Set(p.Labels)) })
}

// fault notes what is wrong with a pod of the workload.
func (d *diagnosis) fault(s *state, p corev1.Pod) {
	ref := refOf("v1", "Pod", p.Namespace, p.Name)
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		waiting, last := c.State.Waiting, c.LastTerminationState.Terminated
		crashed := last != nil && last.ExitCode != 0 && c.RestartCount > 0
		switch {
		case waiting != nil && waiting.Reason == "CrashLoopBackOff", crashed && !c.Ready:
			text := fmt.Sprintf("%s: container %s restarted %d times", name(ref), quote(c.Name), c.RestartCount)
			if last != nil {
				text += fmt.Sprintf(", the last time with exit code %d (%s)", last.ExitCode, quote(last.Reason))
			}
			s.code, s.how = FinalizerControllerCrashing, "crashes again and again"
			s.evidence = append(s.evidence, text)
			s.next = command.Kubectl("logs") + " " + on(ref) + " -c " + word(c.Name) + " --previous"
		case waiting != nil && waiting.Reason != "":
			s.evidence = append(s.evidence, fmt.Sprintf("%s: container %s: %s %s", name(ref), quote(c.Name), quote(waiting.Reason), quote(waiting.Message)))
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			s.evidence = append(s.evidence, name(ref)+": "+quote(c.Reason+" "+c.Message))
		}
	}
	s.evidence = some(s.evidence, 4)
}

// controller says why the finalizer's controller, once it is found, does not
// remove it.
func (d *diagnosis) controller(u *unstructured.Unstructured, finalizer string, s search, c candidate) finding {
	state := d.state(c.workload)
	if state.code != "" {
		return finding{rank: rankBroken, Cause: event.Cause{
			Code:      state.code,
			Message:   c.owner(finalizer) + ", " + state.how,
			Evidence:  append(append(state.evidence, c.why...), d.set(u, finalizer)...),
			Next:      state.next,
			BlockedBy: c.ref,
		}}
	}
	if f, ok := d.unauthorised(u, finalizer, c); ok {
		return f
	}
	f := d.silent(u, finalizer, c.ref)
	f.Message = c.owner(finalizer) + ", is alive, but has not removed it in " + ago(d.now.Sub(since(u)))
	f.Evidence = append(append(state.evidence, c.why...), d.set(u, finalizer)...)
	if c.lease != nil {
		f.Evidence = append(f.Evidence, c.lease.String(d.now))
	}
	if s.operator != "" {
		f.Evidence = append(f.Evidence, "the finalizer is known to be "+s.operator+"'s")
	}
	return f
}

// unauthorised: the controller may not write what it has to.
func (d *diagnosis) unauthorised(u *unstructured.Unstructured, finalizer string, c candidate) (finding, bool) {
	user := "system:serviceaccount:" + c.ref.Namespace + ":" + c.account
	mayUpdate, sure := d.allowed(user, "update", object.RefOf(u))
	mayPatch, sureOfPatch := d.allowed(user, "patch", object.RefOf(u))
	if !sure || !sureOfPatch || mayUpdate || mayPatch {
		return finding{}, false
	}
	ref := object.RefOf(u)
	return finding{rank: rankBroken, Cause: event.Cause{
		Code:      FinalizerControllerForbidden,
		Message:   c.owner(finalizer) + ", is not permitted to remove it",
		Evidence:  append([]string{"service account " + quote(c.account) + " -n " + quote(c.ref.Namespace) + " may neither update nor patch " + name(ref)}, c.why...),
		Next:      command.KubectlAs("auth", "can-i") + " update " + on(ref) + " --as=" + word(user),
		BlockedBy: refOf("v1", "ServiceAccount", c.ref.Namespace, c.account),
	}}, true
}

// owner says what the workload is taken for. The right to update, by itself, makes
// nobody the finalizer's controller.
func (c candidate) owner(finalizer string) string {
	who := "the controller of the finalizer "
	if c.score < worthGrant {
		who = "what may be the controller of the finalizer "
	}
	return who + quote(finalizer) + ", " + name(c.ref)
}

// silent: the controller is alive, but does not remove the finalizer.
func (d *diagnosis) silent(u *unstructured.Unstructured, finalizer string, by object.Ref) finding {
	return finding{rank: rankSilent, Cause: event.Cause{
		Code:      FinalizerControllerSilent,
		Message:   "the controller of the finalizer " + quote(finalizer) + ", " + name(by) + ", is alive, but has not removed it in " + ago(d.now.Sub(since(u))),
		Next:      command.Kubectl("logs") + " " + on(by) + " --all-containers --since=1h | grep " + word(u.GetName()),
		BlockedBy: by,
	}}
}
