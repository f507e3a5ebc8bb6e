package stuck

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// A Pod is removed only after the kubelet of its node has confirmed that the Pod has stopped (edge
// case 63).
func (d *diagnosis) pod(u *unstructured.Unstructured) []finding {
	if !diagnose.IsKind(u, "", "Pod") {
		return nil
	}
	p, ok := diagnose.As[corev1.Pod](d.Whole(u))
	if !ok || p.DeletionTimestamp == nil {
		return nil
	}
	ref := object.RefOf(u)
	if left := p.DeletionTimestamp.Sub(d.Now); left > 0 {
		return []finding{{rank: rankWaiting, Cause: event.Cause{
			Code:     PodGracePeriod,
			Message:  "it is within its grace period, which ends in " + diagnose.Ago(left),
			Evidence: running(p),
		}}}
	}
	if p.Spec.NodeName == "" {
		return nil // The server deletes such a Pod at once.
	}
	late := "its grace period ended " + diagnose.Ago(d.Now.Sub(p.DeletionTimestamp.Time)) + " ago"
	n := d.node(p.Spec.NodeName)
	f := finding{rank: rankHeld, Cause: event.Cause{
		Evidence:  append(append([]string{late}, n.evidence...), running(p)...),
		Next:      command.Kubectl("delete") + " " + diagnose.On(ref) + " --grace-period=0 --force",
		Risk:      "its containers may keep running on the node, unnoticed: in a StatefulSet, two pods of the same name may then use the same data",
		BlockedBy: diagnose.RefOf("v1", "Node", "", p.Spec.NodeName),
	}}
	f.Evidence = append(f.Evidence, d.budgets(p)...)
	switch {
	case n.code != "":
		f.Code, f.rank = n.code, rankBroken
		f.Message = "it runs on node " + text.Excerpt(p.Spec.NodeName) + ", which " + n.how + ": nothing confirms that its containers have stopped"
		f.Risk = "none if the machine is off, so check that first; while the machine is on, " + f.Risk
		if n.code == NodeGone {
			f.Risk = "none if the machine is gone for good; if only its Node object was lost, the pod's containers keep running on it"
		}
	case len(running(p)) == 0 && len(p.Status.ContainerStatuses) > 0:
		f.Code = PodUnmounting
		f.Message = "its containers have stopped, but the kubelet of node " + text.Excerpt(p.Spec.NodeName) + " has not cleaned up: an unmount may be hanging"
		f.Evidence = append(f.Evidence, volumesOf(p)...)
		f.Next, f.Risk = command.Kubectl("events")+" --for pod/"+text.ShellQuote(p.Name)+" -n "+text.ShellQuote(p.Namespace), ""
	default:
		f.Code = PodPastGracePeriod
		f.Message = "its grace period is over, but the kubelet of node " + text.Excerpt(p.Spec.NodeName) + " has not confirmed that its containers have stopped"
	}
	if len(p.Finalizers) > 0 { // These keep the Pod, whatever the kubelet does.
		f.rank = max(f.rank, rankWaiting)
	}
	return []finding{f}
}

func running(p corev1.Pod) []string {
	var names []string
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Running != nil {
			names = append(names, "container "+text.Excerpt(c.Name)+" is running")
		}
	}
	return diagnose.Some(names, 3)
}

// volumesOf describes the volumes that may be stuck unmounting.
func volumesOf(p corev1.Pod) []string {
	var found []string
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			found = append(found, "volume "+text.Excerpt(v.Name)+": claim "+text.Excerpt(v.PersistentVolumeClaim.ClaimName))
		case v.NFS != nil:
			found = append(found, "volume "+text.Excerpt(v.Name)+": NFS "+text.Excerpt(v.NFS.Server))
		case v.CSI != nil:
			found = append(found, "volume "+text.Excerpt(v.Name)+": "+text.Excerpt(v.CSI.Driver))
		}
	}
	return diagnose.Some(found, 3)
}

// People often suspect disruption budgets, but these are not the cause (edge case 65).
func (d *diagnosis) budgets(p corev1.Pod) []string {
	objects, _ := d.List(diagnose.KindOf("policy/v1", "PodDisruptionBudget"), p.Namespace)
	for _, b := range diagnose.All[policyv1.PodDisruptionBudget](objects) {
		if b.Spec.Selector != nil && diagnose.Selects(b.Spec.Selector, p.Labels) {
			return []string{fmt.Sprintf("PodDisruptionBudget %s is not the reason: it blocks evictions, never deletions", text.Excerpt(b.Name))}
		}
	}
	return nil
}

type node struct {
	code, how string
	evidence  []string
}

func (d *diagnosis) node(called string) node {
	u, sure := d.Get(diagnose.KindOf("v1", "Node"), "", called)
	if u == nil {
		if !sure {
			return node{}
		}
		return node{code: NodeGone, how: "no longer exists", evidence: []string{"node " + text.Excerpt(called) + " does not exist"}}
	}
	ready := object.ConditionOf(u, "Ready")
	if ready.Status == "True" || ready.Status == "" {
		return node{}
	}
	return node{code: NodeNotReady, how: "is not ready", evidence: []string{"node " + text.Excerpt(called) + ": Ready is " + ready.Status + ", " + message(ready)}}
}

func (n node) advice(called string) string {
	if n.code == NodeGone {
		return command.Kubectl("get") + " pods -A --field-selector spec.nodeName=" + text.ShellQuote(called)
	}
	return command.Kubectl("taint") + " nodes " + text.ShellQuote(called) + " node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
}

func (n node) risk() string {
	if n.code == NodeGone {
		return ""
	}
	return "run this only if the machine is off: its pods will start elsewhere, with the same data"
}

const cloudController = "cloud-controller-manager"

// A cloud controller has to release the load balancer (edge case 63).
func (d *diagnosis) loadBalancer(u *unstructured.Unstructured, finalizer string) []finding {
	workloads, sure := d.Workloads()
	for _, w := range workloads {
		if strings.Contains(w.Ref.Name, cloudController) || w.Called(cloudController) {
			return []finding{d.controller(u, finalizer, diagnose.Search{}, diagnose.Candidate{Workload: w, Why: []string{"it is the cloud controller"}})}
		}
	}
	leases, sureOfLeases := d.Leases()
	s := diagnose.Search{Sure: sure && sureOfLeases}
	if s.Sure {
		s.Evidence = []string{"no workload or lease is named " + cloudController}
	}
	for _, l := range leases {
		if !strings.Contains(l.Ref.Name, cloudController) {
			continue
		}
		if !l.Stale(d.Now) {
			s.Lease = &l
			return []finding{d.silentElsewhere(u, finalizer, s)}
		}
		s.Evidence = []string{l.String(d.Now)}
	}
	if !s.Sure {
		return []finding{d.unfound(u, finalizer, s)}
	}
	cause := event.Cause{
		Code:     LoadBalancerControllerGone,
		Message:  "this cluster runs no cloud controller that could release its load balancer (finalizer " + text.Excerpt(finalizer) + ")",
		Evidence: append(s.Evidence, d.deleted(u)),
	}
	return []finding{{rank: rankBroken, Cause: removing(cause, u, finalizer, "its load balancer remains at the provider, and keeps costing money")}}
}

func builtIn(finalizer string) (waits string, ok bool) {
	waits, ok = map[string]string{
		"kubernetes":                               "the namespace controller to delete the contents",
		"batch.kubernetes.io/job-tracking":         "the job controller to count the pod",
		"kubernetes.io/pv-controller":              "the volume controller to delete the storage behind it",
		"kubernetes.io/vac-protection":             "volumes to stop using the class",
		"resource.kubernetes.io/delete-protection": "pods to stop using the claim",
		"networking.k8s.io/service-cidr-finalizer": "services to stop using addresses in the range",
	}[finalizer]
	return waits, ok
}

// builtIn explains a finalizer that a controller of Kubernetes itself removes.
func (d *diagnosis) builtIn(u *unstructured.Unstructured, finalizer, waits string) []finding {
	if down := d.controllerManager(); len(down) > 0 {
		return down
	}
	ref := object.RefOf(u)
	next := command.Kubectl("events") + " --for " + text.ShellQuote(strings.ToLower(ref.GVK.Kind)+"/"+ref.Name)
	if ref.Namespace != "" {
		next += " -n " + text.ShellQuote(ref.Namespace)
	}
	return []finding{{rank: rankWaiting, Cause: event.Cause{
		Code:     BuiltInFinalizer,
		Message:  "the finalizer " + text.Excerpt(finalizer) + " waits for " + waits + "; Kubernetes removes the finalizer on its own",
		Evidence: []string{d.deleted(u)},
		Next:     next,
	}}}
}

// kube-controller-manager performs Kubernetes' own part of a deletion.
func (d *diagnosis) controllerManager() []finding {
	const namespace, lease = "kube-system", "kube-controller-manager"
	u, _ := d.Get(diagnose.KindOf("coordination.k8s.io/v1", "Lease"), namespace, lease)
	l, ok := diagnose.LeaseOf(u)
	if !ok || !l.Stale(d.Now) {
		return nil // Without leader election, its state is unknown.
	}
	return []finding{{rank: rankServer, Cause: event.Cause{
		Code:      ControllerManagerDown,
		Message:   "kube-controller-manager is not running: objects that Kubernetes itself cleans up will not go away",
		Evidence:  []string{l.String(d.Now)},
		Next:      command.Kubectl("get") + " pods -n kube-system -l component=kube-controller-manager -o wide",
		BlockedBy: object.RefOf(u),
	}}}
}
