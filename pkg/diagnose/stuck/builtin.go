package stuck

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// builtIn says what one of Kubernetes' own finalizers waits for, if its controller is all
// there is to check.
func builtIn(finalizer string) (waits string, ok bool) {
	switch finalizer {
	case "kubernetes":
		return "the namespace controller to delete what is in it", true
	case "batch.kubernetes.io/job-tracking":
		return "the job controller to count the pod", true
	case "kubernetes.io/pv-controller":
		return "the volume controller to delete the storage behind it", true
	case "kubernetes.io/vac-protection":
		return "no volume to use the class any more", true
	case "resource.kubernetes.io/delete-protection":
		return "no pod to use the claim any more", true
	case "networking.k8s.io/service-cidr-finalizer":
		return "no service to use an address of the range any more", true
	default:
		return "", false
	}
}

// builtIn covers finalizers that a controller of Kubernetes' own removes.
func (d *diagnosis) builtIn(u *unstructured.Unstructured, finalizer, waits string) []finding {
	if down := d.controllerManager(); len(down) > 0 {
		return down
	}
	ref := object.RefOf(u)
	return []finding{{rank: rankWaiting, Cause: event.Cause{
		Code:     BuiltInFinalizer,
		Message:  "the finalizer " + text.Excerpt(finalizer) + " waits for " + waits + "; Kubernetes removes it on its own",
		Evidence: []string{d.deleted(u)},
		Next:     command.Kubectl("events") + " --for " + text.ShellQuote(strings.ToLower(ref.GVK.Kind)+"/"+ref.Name) + inNamespace(ref.Namespace),
	}}}
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + text.ShellQuote(namespace)
}

// controllerManager covers a kube-controller-manager that has stopped: it does Kubernetes'
// own part of deletions.
func (d *diagnosis) controllerManager() []finding {
	const namespace, lease = "kube-system", "kube-controller-manager"
	u, _ := d.Get(diagnose.KindOf("coordination.k8s.io/v1", "Lease"), namespace, lease)
	l, ok := diagnose.LeaseOf(u)
	if !ok || !l.Stale(d.Now) {
		return nil // Without leader election its state is unknown.
	}
	return []finding{{rank: rankServer, Cause: event.Cause{
		Code:      ControllerManagerDown,
		Message:   "kube-controller-manager does not run: nothing that Kubernetes itself cleans up will go away",
		Evidence:  []string{l.String(d.Now)},
		Next:      command.Kubectl("get") + " pods -n kube-system -l component=kube-controller-manager -o wide",
		BlockedBy: object.RefOf(u),
	}}}
}
