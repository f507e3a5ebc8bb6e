package pod

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func (v Rules) unscheduled(p *corev1.Pod) []rule.Finding {
	c := rule.PodCondition(p, corev1.PodScheduled)
	if c.Reason == corev1.PodReasonSchedulingGated {
		var gates []string
		for _, gate := range p.Spec.SchedulingGates {
			gates = append(gates, text.Excerpt(gate.Name))
		}
		return []rule.Finding{rule.Of(p, rule.Direct, event.Cause{
			Code:     "SchedulingGated",
			Message:  "is not scheduled until its scheduling gates are removed: " + text.List(gates, 3),
			Evidence: []string{".spec.schedulingGates: " + text.List(gates, 3)},
			Next:     rule.Kubectl(p.Namespace, "get", "pod", p.Name, "-o", "yaml"),
		})}
	}
	if found := v.volumes.ClaimsOf(p); len(found) > 0 {
		return found
	}
	if found, ok := v.claimTemplate(p); ok {
		return []rule.Finding{found}
	}
	message := c.Message
	if e := v.Warning(p, "FailedScheduling"); message == "" && e != nil {
		message = e.Message
	}
	if message == "" {
		return []rule.Finding{v.unseen(p)}
	}
	return []rule.Finding{v.unschedulable(p, readVerdict(message))}
}

// claimTemplate explains why the ResourceClaim that a template makes for the Pod does not exist. Only
// the event of the controller that makes it says so, and it quotes the API server.
func (v Rules) claimTemplate(p *corev1.Pod) (rule.Finding, bool) {
	if len(p.Spec.ResourceClaims) == 0 {
		return rule.Finding{}, false
	}
	e := v.Warning(p, "FailedResourceClaimCreation")
	if e == nil {
		return rule.Finding{}, false
	}
	c := event.Cause{
		Code:     "ResourceClaimFailed",
		Message:  "the ResourceClaim that it needs cannot be created: " + text.Excerpt(e.Message),
		Evidence: rule.Quoted(e),
		Next:     rule.Kubectl(p.Namespace, "describe", "pod", p.Name),
	}
	for _, claim := range p.Spec.ResourceClaims {
		template := claim.ResourceClaimTemplateName
		if template == nil || !strings.Contains(e.Message, `resourceclaimtemplate.resource.k8s.io "`+*template+`" not found`) {
			continue
		}
		r := diagnose.RefOf("resource.k8s.io/v1", "ResourceClaimTemplate", p.Namespace, *template)
		if v.There(r) {
			return rule.Finding{}, false // It was created after the event.
		}
		c.Code, c.BlockedBy = "ReferenceMissing", r
		c.Message = "needs ResourceClaimTemplate " + text.Excerpt(*template) + ", which does not exist"
		c.Next = rule.Kubectl(p.Namespace, "get", "resourceclaimtemplates")
	}
	return rule.Of(p, rule.Root, c), true
}

func (v Rules) unseen(p *corev1.Pod) rule.Finding {
	scheduler := cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName)
	return rule.Of(p, rule.Consequence, event.Cause{
		Code:     "NotScheduled",
		Message:  "has no node yet, and scheduler " + text.Excerpt(scheduler) + " has not reported why",
		Evidence: []string{"Pod " + p.Name + ": no condition PodScheduled" + v.Since(p.CreationTimestamp)},
		Next:     rule.Kubectl(p.Namespace, "describe", "pod", p.Name),
	})
}

// verdict is the scheduler's verdict, which exists only as text: "0/5 nodes are available: 3
// Insufficient cpu, 2 node(s) were unschedulable. …"
type verdict struct {
	nodes   int
	reasons []nodeReason
	text    string
}

type nodeReason struct {
	nodes int
	text  string
}

func readVerdict(message string) verdict {
	out := verdict{text: message, nodes: -1}
	head, body, ok := strings.Cut(message, " nodes are available:")
	if !ok {
		if strings.HasPrefix(message, "no nodes available") {
			out.nodes = 0
		}
		return out
	}
	if _, of, ok := strings.Cut(head, "/"); ok {
		if n, err := strconv.Atoi(of); err == nil {
			out.nodes = n
		}
	}
	// All later sentences are about preemption.
	body, _, _ = strings.Cut(strings.TrimSpace(body)+" ", ". ")
	for part := range strings.SplitSeq(body, ", ") {
		part = strings.TrimSpace(part)
		number, text, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(number)
		switch {
		case err == nil:
			out.reasons = append(out.reasons, nodeReason{n, text})
		case len(out.reasons) > 0: // The reason contains a comma.
			last := &out.reasons[len(out.reasons)-1]
			last.text += ", " + part
		case part != "": // The reason is about the Pod, not about nodes.
			out.reasons = append(out.reasons, nodeReason{max(out.nodes, 0), part})
		}
	}
	return out
}

// text follows "has" or "have" in a message.
type class struct{ text, next string }

// nodeClass recognizes the reasons given by the scheduler's own plugins.
func nodeClass(reason string, p *corev1.Pod) class {
	columns := func(what string) string {
		return rule.Kubectl("", "get", "nodes", "-o", "custom-columns=NODE:.metadata.name,"+what)
	}
	holds := func(part string) bool { return strings.Contains(reason, part) }
	switch {
	case strings.HasPrefix(reason, "Insufficient "):
		what := strings.TrimPrefix(reason, "Insufficient ")
		return class{"too little " + text.Excerpt(what), columns("CPU:.status.allocatable.cpu,MEMORY:.status.allocatable.memory,PODS:.status.allocatable.pods")}
	case holds("Too many pods"):
		return class{"the maximum number of Pods", columns("PODS:.status.allocatable.pods")}
	case holds("taint"):
		message := "a taint that the Pod does not tolerate"
		if _, taint, ok := strings.Cut(reason, "{"); ok {
			message += " (" + text.Excerpt(strings.TrimSuffix(taint, "}")) + ")"
		}
		return class{message, columns("TAINTS:.spec.taints[*].key")}
	case holds("node affinity/selector"), holds("node selector"):
		return class{"labels that do not match the Pod's nodeSelector or affinity", selectedNodes(p)}
	case holds("anti-affinity"), holds("pod affinity"):
		return class{"Pods that conflict with the Pod's (anti-)affinity", rule.Kubectl(p.Namespace, "get", "pods", "-o", "wide")}
	case holds("topology spread"):
		return class{"too many matching Pods already (topologySpreadConstraints)", rule.Kubectl(p.Namespace, "get", "pods", "-o", "wide")}
	case holds("were unschedulable"):
		return class{"been cordoned", rule.Kubectl("", "get", "nodes")}
	case holds("PersistentVolume's node affinity"), holds("volume node affinity conflict"), holds("available volume zone"):
		return class{"no access to one of the Pod's volumes (volume node affinity)", rule.Kubectl(p.Namespace, "get", "persistentvolumeclaims")}
	case holds("persistent volumes to bind"):
		return class{"no PersistentVolume that fits one of the Pod's claims", rule.Kubectl("", "get", "persistentvolumes")}
	case holds("ReadWriteOncePod"):
		return class{"one of the Pod's volumes in use by another Pod (ReadWriteOncePod)", rule.Kubectl(p.Namespace, "get", "pods", "-o", "wide")}
	case holds("max volume count"):
		return class{"the maximum number of volumes attached", rule.Kubectl("", "get", "volumeattachments")}
	case holds("free ports"):
		return class{"one of the Pod's host ports in use", rule.Kubectl("", "get", "pods", "-A", "-o", "wide")}
	}
	return class{text.Excerpt(reason), rule.Describe(diagnose.RefOf("v1", "Pod", p.Namespace, p.Name))}
}

// selectedNodes returns a command that shows the nodes with their values of the labels that the Pod
// asks for, so that one sees which node lacks what.
func selectedNodes(p *corev1.Pod) string {
	keys := slices.Collect(maps.Keys(p.Spec.NodeSelector))
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				keys = append(keys, e.Key)
			}
		}
	}
	if len(keys) == 0 {
		return rule.Kubectl("", "get", "nodes", "--show-labels")
	}
	slices.Sort(keys)
	return rule.Kubectl("", "get", "nodes", "-L", strings.Join(slices.Compact(keys), ","))
}

// unschedulable names the reason that concerns most nodes first, and proposes its remedy. A Pod that is bound
// to one node, such as a DaemonSet's, fails the affinity of all others, which is left out.
func (v Rules) unschedulable(p *corev1.Pod, message verdict) rule.Finding {
	c := event.Cause{Code: "Unschedulable", Next: rule.Kubectl(p.Namespace, "describe", "pod", p.Name)}
	node := pinned(p)
	if node != "" {
		message.reasons = slices.DeleteFunc(message.reasons, func(r nodeReason) bool { return strings.Contains(r.text, "node affinity/selector") })
	}
	slices.SortStableFunc(message.reasons, func(a, b nodeReason) int { return cmp.Compare(b.nodes, a.nodes) })
	var reported []string
	for i, r := range message.reasons {
		class := nodeClass(r.text, p)
		if i == 0 {
			c.Next = class.next
		}
		if class.text == text.Excerpt(r.text) {
			reported = append(reported, class.text)
			continue
		}
		verb := " have "
		if r.nodes == 1 {
			verb = " has "
		}
		reported = append(reported, strconv.Itoa(r.nodes)+verb+class.text)
	}
	switch {
	case message.nodes == 0:
		c.Code, c.Message, c.Next = "NoNodes", "there are no nodes to run on", rule.Kubectl("", "get", "nodes")
	case node != "" && len(reported) > 0:
		c.Message = "does not fit on its node: " + strings.Join(reported, "; ")
		c.Next = rule.Describe(diagnose.RefOf("v1", "Node", "", node))
		c.BlockedBy = diagnose.RefOf("v1", "Node", "", node)
	case len(reported) == 0:
		c.Message = "fits no node: " + text.Excerpt(message.text)
	case message.nodes > 0:
		c.Message = fmt.Sprintf("fits none of %s: %s", text.Count(message.nodes, "node"), strings.Join(reported, "; "))
	default:
		c.Message = "fits no node: " + strings.Join(reported, "; ")
	}
	c.Evidence = append([]string{"scheduler: " + text.Excerpt(message.text)}, wanted(p)...)
	return rule.Of(p, rule.Direct, c)
}

func pinned(p *corev1.Pod) string {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == "metadata.name" && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

func wanted(p *corev1.Pod) []string {
	total := corev1.ResourceList{}
	for _, c := range p.Spec.Containers {
		for name, q := range c.Resources.Requests {
			sum := total[name]
			sum.Add(q)
			total[name] = sum
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(total)) {
		q := total[name]
		out = append(out, text.Excerpt(string(name))+" "+q.String())
	}
	if len(out) > 0 {
		out = []string{"it requests " + strings.Join(out, ", ")}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Spec.NodeSelector)) {
		out = append(out, "nodeSelector "+text.Excerpt(key+"="+p.Spec.NodeSelector[key]))
	}
	return out
}
