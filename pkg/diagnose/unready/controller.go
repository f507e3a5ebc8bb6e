package unready

import (
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// controller says of a cause what is known of the controller that should act: who
// writes the status, by the managed fields, and whether a workload of that name is
// alive.
func (v *view) controller(u *unstructured.Unstructured, c event.Cause) finding {
	f := finding{Cause: c, rank: root}
	manager := statusManager(u)
	if manager != "" {
		f.Evidence = append(f.Evidence, "its status is written by "+clean(manager))
	}
	if manager == "kube-controller-manager" || strings.HasSuffix(u.GroupVersionKind().Group, ".k8s.io") {
		return f // It is part of the control plane, mostly no workload.
	}
	var candidates []*unstructured.Unstructured
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		for _, w := range v.all(apps(kind).GroupKind()) {
			if v.mayControl(w, u) {
				candidates = append(candidates, w)
			}
		}
	}
	switch len(candidates) {
	case 0:
		if f.Code == "NoController" {
			f.Message += "; is one installed, and does it look at this namespace?"
		}
		if v.unknown(ref(apps("Deployment"), "", "")) {
			f.Evidence = append(f.Evidence, "whether its controller runs is unknown: Deployments may not be listed")
		} else if manager != "" {
			f.Evidence = append(f.Evidence, "no Deployment or StatefulSet seems to be "+clean(manager))
		}
		return f
	case 1:
		return v.alive(f, candidates[0])
	}
	for _, w := range candidates {
		if down := v.alive(f, w); down.Code == "ControllerDown" {
			return down
		}
	}
	return v.alive(f, candidates[0])
}

// alive says whether the workload of a controller has Pods that are ready.
func (v *view) alive(f finding, w *unstructured.Unstructured) finding {
	r := object.RefOf(w)
	ready, _, _ := unstructured.NestedInt64(w.Object, "status", "readyReplicas")
	wanted, set, _ := unstructured.NestedInt64(w.Object, "spec", "replicas")
	f.BlockedBy = r
	f.Evidence = slices.Clip(f.Evidence)
	switch {
	case ready > 0:
		f.Evidence = append(f.Evidence, "its controller is probably "+name(r)+", which is ready")
		f.Next = kubectl(r.Namespace, "logs", r.Resource(), "--all-containers", "--tail=100")
	case set && wanted == 0:
		f.Code = "ControllerDown"
		f.Message += ": the controller, " + name(r) + ", is scaled to zero"
		f.Evidence = append(f.Evidence, name(r)+" has 0 replicas")
		f.Next = kubectl(r.Namespace, "scale", r.Resource(), "--replicas=1")
		f.Risk = "somebody may have stopped it on purpose; it acts on all its objects once it runs"
	default:
		f.Code = "ControllerDown"
		f.Message += ": the controller, " + name(r) + ", is not ready"
		f.Evidence = append(f.Evidence, name(r)+" has no Pod that is ready")
		f.Next = describe(r)
	}
	return f
}

// statusManager returns who wrote the status of an object last.
func statusManager(u *unstructured.Unstructured) string {
	latest, at := "", ""
	for _, m := range u.GetManagedFields() {
		wrote := ""
		if m.Time != nil {
			wrote = m.Time.UTC().Format("20060102150405")
		}
		if m.Subresource == "status" && wrote >= at {
			latest, at = m.Manager, wrote
		}
	}
	return latest
}

// mayControl tells whether a workload is probably the controller of the object: by
// the name under which the status is written, or where there is none, by the
// labels that it has in common with the definition.
func (v *view) mayControl(w, u *unstructured.Unstructured) bool {
	if manager := statusManager(u); manager != "" {
		return isManager(w, manager)
	}
	crd := v.definitionOf(u)
	return crd != nil && sameApp(w, crd)
}

// isManager compares a field manager, which mostly is the name of a program, with
// what a workload is called and runs.
func isManager(w *unstructured.Unstructured, manager string) bool {
	if slices.Contains([]string{"manager", "controller", "operator", "main", "kubectl", "kubectl-edit", "kubectl-patch", "Go-http-client", "unknown"}, manager) {
		return false // The name of too many.
	}
	d, ok := as[appsv1.Deployment](w) // A StatefulSet has these fields at the same places.
	if !ok {
		return false
	}
	names := []string{d.Name, d.Labels["app.kubernetes.io/name"], d.Labels["app"]}
	for _, c := range d.Spec.Template.Spec.Containers {
		names = append(names, c.Name, program(c))
	}
	return slices.Contains(names, manager)
}

// program returns what a container runs, as far as that is said.
func program(c corev1.Container) string {
	if len(c.Command) > 0 {
		return path.Base(c.Command[0])
	}
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	image, _, _ = strings.Cut(image, ":")
	return image
}

func sameApp(w, crd *unstructured.Unstructured) bool {
	for _, label := range appLabels() {
		if value := crd.GetLabels()[label]; value != "" {
			return w.GetLabels()[label] == value
		}
	}
	return false
}

// appLabels are the labels by which a definition and its controller show that they
// belong together, the closest first.
func appLabels() []string {
	return []string{"app.kubernetes.io/instance", "app.kubernetes.io/name", "app.kubernetes.io/part-of", "app"}
}
