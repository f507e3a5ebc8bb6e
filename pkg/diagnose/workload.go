package diagnose

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Workload is a Deployment, a StatefulSet, a DaemonSet or a single Pod.
type Workload struct {
	Ref object.Ref
	// Names lists the names of the workload, its containers and its application.
	Names       []string
	programs    []string
	Account     string
	own, labels labels.Set
	selector    *metav1.LabelSelector
	// Wanted counts the Pods that should run, and Ready counts the Pods that are ready.
	Wanted, Ready int32
}

// Called reports whether w.Names contains the name.
func (w Workload) Called(name string) bool { return slices.Contains(w.Names, name) }

// Workloads returns all Deployments, StatefulSets and DaemonSets, and whether all could be read.
func (r *Run) Workloads() ([]Workload, bool) {
	made := Once(r, "workloads", func() result[Workload] {
		deployments, sure := r.List(KindOf("apps/v1", "Deployment"), "")
		sets, sureOfSets := r.List(KindOf("apps/v1", "StatefulSet"), "")
		daemons, sureOfDaemons := r.List(KindOf("apps/v1", "DaemonSet"), "")
		var found []Workload
		for _, u := range slices.Concat(deployments, sets, daemons) {
			if w, ok := workloadOf(u); ok {
				found = append(found, w)
			}
		}
		return result[Workload]{found, sure && sureOfSets && sureOfDaemons}
	})
	return made.items, made.sure
}

// podController has the fields that Deployments, StatefulSets and DaemonSets share.
type podController struct {
	Spec struct {
		Replicas *int32                 `json:"replicas"`
		Selector *metav1.LabelSelector  `json:"selector"`
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
	Status struct {
		ReadyReplicas          int32 `json:"readyReplicas"`
		DesiredNumberScheduled int32 `json:"desiredNumberScheduled"`
		NumberReady            int32 `json:"numberReady"`
	} `json:"status"`
}

func workloadOf(u *unstructured.Unstructured) (Workload, bool) {
	w := Workload{Ref: object.RefOf(u)}
	typed, ok := As[podController](u)
	if !ok {
		return w, false
	}
	template := typed.Spec.Template
	w.selector, w.Wanted, w.Ready = typed.Spec.Selector, 1, typed.Status.ReadyReplicas
	if typed.Spec.Replicas != nil {
		w.Wanted = *typed.Spec.Replicas
	}
	if u.GetKind() == "DaemonSet" {
		w.Wanted, w.Ready = typed.Status.DesiredNumberScheduled, typed.Status.NumberReady
	}
	w.own, w.labels = u.GetLabels(), template.Labels
	w.Account = cmp.Or(template.Spec.ServiceAccountName, "default")
	w.Names = []string{u.GetName(), template.Labels["app.kubernetes.io/name"], u.GetLabels()["app.kubernetes.io/name"]}
	for _, c := range template.Spec.Containers {
		w.Names = append(w.Names, c.Name)
		w.programs = append(w.programs, program(c))
	}
	if app := u.GetLabels()["app"]; app != "" {
		w.programs = append(w.programs, app)
	}
	return w, true
}

func program(c corev1.Container) string {
	if len(c.Command) > 0 {
		return path.Base(c.Command[0])
	}
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	image, _, _ = strings.Cut(image, ":")
	return image
}

// Health is the health of a workload.
type Health int

// Runs means that at least one Pod is ready.
const (
	Runs Health = iota
	ScaledDown
	Crashes
	NotReady
)

// State is the state of a workload, with evidence.
type State struct {
	Health
	How      string
	Evidence []string
	Next     string
}

// State returns the state of the workload.
func (r *Run) State(w Workload) State {
	switch {
	case w.Wanted == 0 && w.Ref.GVK.Kind == "DaemonSet":
		return State{Health: ScaledDown, How: "has no node to run on", Next: command.Kubectl("describe") + " " + On(w.Ref)}
	case w.Wanted == 0:
		return State{
			Health: ScaledDown, How: "is scaled to zero", Evidence: []string{"spec.replicas of " + Name(w.Ref) + " is 0"},
			Next: command.Kubectl("scale") + " " + On(w.Ref) + " --replicas=1",
		}
	case w.Ready > 0:
		return State{Evidence: []string{fmt.Sprintf("%s: %d of %d ready", Name(w.Ref), w.Ready, w.Wanted)}}
	}
	s := State{
		Health: NotReady, How: "is not ready",
		Evidence: []string{fmt.Sprintf("%s: 0 of %d ready", Name(w.Ref), w.Wanted)},
		Next:     command.Kubectl("describe") + " " + On(w.Ref),
	}
	for _, p := range r.podsOf(w) {
		r.fault(&s, p)
	}
	return s
}

func (r *Run) podsAs(accounts []account) (found []Workload, sure bool) {
	sure = true
	for _, a := range accounts {
		objects, known := r.List(KindOf("v1", "Pod"), a.namespace)
		sure = sure && known
		for _, p := range All[corev1.Pod](objects) {
			if cmp.Or(p.Spec.ServiceAccountName, "default") != a.name || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue
			}
			w := Workload{Ref: RefOf("v1", "Pod", p.Namespace, p.Name), Account: a.name, labels: p.Labels, Wanted: 1}
			if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				w.Ready = 1
			}
			found = append(found, w)
		}
	}
	return found, sure
}

func (r *Run) podsOf(w Workload) []corev1.Pod {
	if w.Ref.GVK.Kind == "Pod" {
		objects, _ := r.List(w.Ref.GVK, w.Ref.Namespace)
		return slices.DeleteFunc(All[corev1.Pod](objects), func(p corev1.Pod) bool { return p.Name != w.Ref.Name })
	}
	selector, err := metav1.LabelSelectorAsSelector(w.selector)
	if err != nil || selector.Empty() {
		return nil
	}
	objects, _ := r.List(KindOf("v1", "Pod"), w.Ref.Namespace)
	return slices.DeleteFunc(All[corev1.Pod](objects), func(p corev1.Pod) bool { return !selector.Matches(labels.Set(p.Labels)) })
}

// fault adds the evidence of one Pod. A container that runs between two crashes counts as crashing until it
// is ready.
func (r *Run) fault(s *State, p corev1.Pod) {
	ref := RefOf("v1", "Pod", p.Namespace, p.Name)
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		waiting, last := c.State.Waiting, c.LastTerminationState.Terminated
		crashed := last != nil && last.ExitCode != 0 && c.RestartCount > 0
		switch {
		case waiting != nil && waiting.Reason == "CrashLoopBackOff", crashed && !c.Ready:
			message := fmt.Sprintf("%s: container %s has restarted %d times", Name(ref), text.Excerpt(c.Name), c.RestartCount)
			if last != nil {
				message += fmt.Sprintf(", last with exit code %d (%s)", last.ExitCode, text.Excerpt(last.Reason))
			}
			s.Health, s.How = Crashes, "keeps crashing"
			s.Evidence = append(s.Evidence, message)
			s.Next = command.Kubectl("logs") + " " + On(ref) + " -c " + text.ShellQuote(c.Name) + " --previous"
		case waiting != nil && waiting.Reason != "":
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: container %s: %s %s", Name(ref), text.Excerpt(c.Name), text.Excerpt(waiting.Reason), text.Excerpt(waiting.Message)))
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			s.Evidence = append(s.Evidence, Name(ref)+": "+text.Excerpt(c.Reason+" "+c.Message))
		}
	}
	s.Evidence = Some(s.Evidence, 4)
}

// Backend is the state of the Pods behind a Service.
type Backend struct {
	// Dead is set if the Service certainly has no ready endpoint.
	Dead     bool
	Evidence []string
	Next     string
}

// Backend reports whether a Service has ready endpoints and, if not, why.
func (r *Run) Backend(s Service) Backend {
	ref := RefOf("v1", "Service", s.Namespace, s.Name)
	u, sure := r.Get(ref.GVK, s.Namespace, s.Name)
	if u == nil {
		return Backend{Dead: sure, Evidence: when(sure, Name(ref)+" does not exist")}
	}
	svc, _ := As[corev1.Service](u)
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return Backend{Evidence: []string{Name(ref) + " is an alias for " + text.Excerpt(svc.Spec.ExternalName)}}
	}
	slices, sure := r.List(KindOf("discovery.k8s.io/v1", "EndpointSlice"), s.Namespace)
	for _, slice := range All[discoveryv1.EndpointSlice](slices) {
		if slice.Labels[discoveryv1.LabelServiceName] != s.Name {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return Backend{Evidence: []string{Name(ref) + " has ready endpoints"}}
			}
		}
	}
	b := Backend{Dead: sure, Evidence: when(sure, Name(ref)+" has no ready endpoint")}
	if w, ok := r.behind(svc); ok && b.Dead {
		state := r.State(w)
		b.Evidence = append(b.Evidence, state.Evidence...)
		if state.Health != Runs {
			b.Next = state.Next
		}
	}
	return b
}

func (r *Run) behind(svc corev1.Service) (Workload, bool) {
	if len(svc.Spec.Selector) == 0 {
		return Workload{}, false
	}
	workloads, _ := r.Workloads()
	for _, w := range workloads {
		if w.Ref.Namespace == svc.Namespace && labels.SelectorFromSet(svc.Spec.Selector).Matches(w.labels) {
			return w, true
		}
	}
	return Workload{}, false
}

func when(yes bool, text string) []string {
	if !yes {
		return nil
	}
	return []string{text}
}

func (r *Run) serves(s Service, w Workload) bool {
	u, _ := r.Get(KindOf("v1", "Service"), s.Namespace, s.Name)
	svc, ok := As[corev1.Service](u)
	return ok && len(svc.Spec.Selector) > 0 && w.Ref.Namespace == s.Namespace &&
		labels.SelectorFromSet(svc.Spec.Selector).Matches(w.labels)
}
