package unready

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func (v *rules) service(s *corev1.Service) []rule.Finding {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	found := v.endpoints(s)
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) == 0 {
		for i := range found {
			found[i].Passing = true // A load balancer gets its address regardless of its Pods.
		}
		found = append(found, v.loadBalancer(s))
	}
	return found
}

func (v *rules) loadBalancer(s *corev1.Service) rule.Finding {
	r := diagnose.RefOf("v1", "Service", s.Namespace, s.Name)
	c := event.Cause{
		Code:     "LoadBalancerPending",
		Message:  rule.Name(r) + " has no address yet: no controller has set up its load balancer",
		Evidence: []string{".spec.type is LoadBalancer, but .status.loadBalancer.ingress is empty"},
		Next:     rule.Describe(r),
	}
	if class := s.Spec.LoadBalancerClass; class != nil {
		c.Evidence = append(c.Evidence, "loadBalancerClass is "+text.Excerpt(*class)+": only the controller for that class handles this Service")
	}
	if e := v.Warning(s, "SyncLoadBalancerFailed", "CreatingLoadBalancerFailed", "AllocationFailed"); e != nil {
		c.Code = "LoadBalancerFailed"
		c.Message = rule.Name(r) + " has no address: its load balancer cannot be created (" + text.Excerpt(e.Reason) + ")"
		c.Evidence = rule.Quoted(e)
	}
	return rule.Finding{Cause: c, Rank: rule.Root}
}

// endpoints explains a Service without a ready endpoint. The causes of its Pods come first: without endpoints,
// the Service is mostly a consequence.
func (v *rules) endpoints(s *corev1.Service) []rule.Finding {
	r := diagnose.RefOf("v1", "Service", s.Namespace, s.Name)
	slicesOf := diagnose.Question{GVK: diagnose.KindOf("discovery.k8s.io/v1", "EndpointSlice"), Namespace: s.Namespace, Labels: discoveryv1.LabelServiceName + "=" + s.Name}
	endpoints, sure := v.Select(slicesOf, every)
	selector := labels.SelectorFromSet(s.Spec.Selector)
	behind := v.behind(s)
	if !sure || v.answers(s, endpoints) {
		return nil
	}
	c := event.Cause{Next: rule.Kubectl(s.Namespace, "get", "endpointslices", "-l", discoveryv1.LabelServiceName+"="+s.Name), BlockedBy: r}
	if len(s.Spec.Selector) == 0 {
		c.Code = "NoEndpoints"
		c.Message = rule.Name(r) + " has neither a selector nor endpoints"
		c.Evidence = []string{".spec.selector is empty"}
		return []rule.Finding{{Cause: c, Rank: rule.Root}}
	}
	if !behind.Sure {
		return nil
	}
	if len(behind.Pods) == 0 && behind.More == 0 {
		return []rule.Finding{selectorMatchesNothing(s)}
	}
	var found []rule.Finding
	for _, p := range behind.Pods {
		found = append(found, v.pods.Explain(p)...)
	}
	if port, ok := portMissing(s, behind.Pods); ok {
		c.Code = "TargetPortMissing"
		c.Message = fmt.Sprintf("%s has no endpoints for port %d: none of its Pods has a container port named %s", rule.Name(r), port.Port, text.Excerpt(port.TargetPort.StrVal))
		c.Evidence = []string{"targetPort " + text.Excerpt(port.TargetPort.StrVal)}
		c.Next = rule.Kubectl(s.Namespace, "get", "pods", "-l", selector.String(), "-o", "custom-columns=POD:.metadata.name,PORTS:.spec.containers[*].ports[*].name")
		return append(found, rule.Finding{Cause: c, Rank: rule.Root})
	}
	if slices.ContainsFunc(behind.Pods, rule.Ready) {
		c.Code = "NoEndpoints"
		c.Message = rule.Name(r) + " has no endpoints yet, although one of its Pods is ready"
		c.Evidence = []string{"selector " + text.Excerpt(selector.String())}
		return append(found, rule.Finding{Cause: c, Rank: rule.Consequence})
	}
	c.Code = "NoReadyEndpoints"
	c.Message = fmt.Sprintf("%s has no ready endpoint: none of its Pods is ready", rule.Name(r))
	c.Evidence = []string{"selector " + text.Excerpt(selector.String()) + " matches " + text.Count(len(behind.Pods)+behind.More, "Pod")}
	return append(found, rule.Finding{Cause: c, Rank: rule.Consequence})
}

func (v *rules) behind(s *corev1.Service) rule.Pods {
	if len(s.Spec.Selector) == 0 {
		return rule.Pods{}
	}
	return v.ReadPods(s.Namespace, labels.SelectorFromSet(s.Spec.Selector).String(), "", nil)
}

func selectorMatchesNothing(s *corev1.Service) rule.Finding {
	r := diagnose.RefOf("v1", "Service", s.Namespace, s.Name)
	return rule.Finding{Rank: rule.Root, Cause: event.Cause{
		Code:      "SelectorMatchesNothing",
		Message:   rule.Name(r) + " has no endpoints: its selector matches no Pod",
		Evidence:  []string{"selector " + text.Excerpt(labels.SelectorFromSet(s.Spec.Selector).String())},
		Next:      rule.Kubectl(s.Namespace, "get", "pods", "--show-labels"),
		BlockedBy: r,
	}}
}

// IsEntrance reports whether [Unanswered] covers the object's kind.
func IsEntrance(ref object.Ref) bool {
	return ref.GVK == diagnose.KindOf("v1", "Service") || ref.GVK == diagnose.KindOf("networking.k8s.io/v1", "Ingress")
}

// Unanswered returns remarks on ready Services and Ingresses that cannot answer requests. It
// examines at most [MostRunning] objects. When in doubt, it makes no remark.
func Unanswered(ctx context.Context, reader diagnose.Reader, refs []object.Ref) []event.Remarked {
	return UnansweredOf(ctx, reader, 4*MostRunning, refs[:min(len(refs), MostRunning)])
}

// UnansweredOf is [Unanswered] for any number of objects. budget limits the number of questions to
// the reader.
func UnansweredOf(ctx context.Context, reader diagnose.Reader, budget int, refs []object.Ref) []event.Remarked {
	var found []event.Remarked
	examine := func(r *diagnose.Run) {
		found = nil
		for _, ref := range refs {
			u, _ := r.Get(ref.GVK, ref.Namespace, ref.Name)
			if u == nil {
				continue
			}
			v := newRules(r, u)
			findings := append(typed(v, u, v.unhandled), typed(v, u, v.backends)...)
			if ref.GVK == diagnose.KindOf("v1", "Service") {
				findings = typed(v, u, v.selectsNothing)
			}
			for _, f := range findings {
				found = append(found, remark(ref, f))
			}
		}
	}
	facts := diagnose.NewFacts()
	g := diagnose.Gatherer{Reader: reader, Budget: budget, WorthList: MostRunning + 1}
	if g.Fill(ctx, facts, examine) != nil {
		return nil
	}
	examine(diagnose.NewRun(time.Time{}, facts))
	return found
}

func remark(ref object.Ref, f rule.Finding) event.Remarked {
	return event.Remarked{Ref: ref, Code: f.Code, Text: strings.TrimPrefix(f.Message, rule.Name(ref)+" "), Hint: "see " + f.Next}
}

func (v *rules) selectsNothing(s *corev1.Service) []rule.Finding {
	pods := v.behind(s)
	if len(s.Spec.Selector) == 0 || s.Spec.Type == corev1.ServiceTypeExternalName || !pods.Sure || len(pods.Pods) > 0 || pods.More > 0 {
		return nil
	}
	return []rule.Finding{selectorMatchesNothing(s)}
}

func every(*unstructured.Unstructured) bool { return true }

func (v *rules) answers(s *corev1.Service, endpoints []*unstructured.Unstructured) bool {
	for _, u := range endpoints {
		slice, ok := rule.As[discoveryv1.EndpointSlice](v.View, u)
		if !ok {
			continue
		}
		if len(s.Spec.Ports) > 0 && len(slice.Ports) == 0 {
			continue // Its Pods have none of the Service's ports.
		}
		// An endpoint without a ready condition counts as ready.
		if slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }) {
			return true
		}
	}
	return false
}

func portMissing(s *corev1.Service, pods []*corev1.Pod) (corev1.ServicePort, bool) {
	for _, port := range s.Spec.Ports {
		if port.TargetPort.Type != intstr.String {
			continue
		}
		has := slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
			return slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), func(c corev1.Container) bool {
				return slices.ContainsFunc(c.Ports, func(q corev1.ContainerPort) bool { return q.Name == port.TargetPort.StrVal })
			})
		})
		if !has {
			return port, true
		}
	}
	return corev1.ServicePort{}, false
}

// selectorOf returns a selector as text; "" if the selector is invalid or empty.
func selectorOf(s *metav1.LabelSelector) string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || selector.Empty() {
		return ""
	}
	return selector.String()
}

const gatewayGroup = "gateway.networking.k8s.io"

// A Gateway API object may refer to missing objects that its status does not mention.
func (v *rules) references(u *unstructured.Unstructured) []rule.Finding {
	if u.GroupVersionKind().Group != gatewayGroup {
		return nil
	}
	var refs []object.Ref
	switch kind := u.GetKind(); {
	case kind == "Gateway":
		class, _, _ := unstructured.NestedString(u.Object, "spec", "gatewayClassName")
		refs = append(refs, object.Ref{GVK: gatewayKind("GatewayClass"), Name: class})
	case strings.HasSuffix(kind, "Route"):
		refs = append(refs, namedBy(u, gatewayKind("Gateway"), "spec", "parentRefs")...)
		rules, _, _ := unstructured.NestedSlice(u.Object, "spec", "rules")
		for _, r := range rules {
			if one, ok := r.(map[string]any); ok {
				refs = append(refs, namedBy(&unstructured.Unstructured{Object: map[string]any{
					"metadata": u.Object["metadata"], "backendRefs": one["backendRefs"],
				}}, diagnose.KindOf("v1", "Service"), "backendRefs")...)
			}
		}
	}
	slices.SortFunc(refs, object.Ref.Compare)
	refs = slices.Compact(refs)
	var found []rule.Finding
	for _, r := range refs[:min(rule.MostDetailed, len(refs))] {
		if r.Name == "" || !v.Absent(r) {
			continue
		}
		found = append(found, rule.Finding{Rank: rule.Root, Cause: event.Cause{
			Code:      "ReferenceMissing",
			Message:   rule.Name(object.RefOf(u)) + " needs " + r.GVK.Kind + " " + rule.Name(r) + ", which does not exist",
			Evidence:  []string{rule.Name(r) + " is not found"},
			Next:      rule.Kubectl(r.Namespace, "get", strings.TrimSuffix(r.Resource(), "/"+r.Name)),
			BlockedBy: r,
		}})
	}
	return found
}

func gatewayKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: kind}
}

// namedBy returns the objects of the kind gvk to which the list at path refers. It ignores
// references to other kinds, because it is unknown at which version they are served.
func namedBy(u *unstructured.Unstructured, gvk schema.GroupVersionKind, path ...string) []object.Ref {
	list, _, _ := unstructured.NestedSlice(u.Object, path...)
	var refs []object.Ref
	for _, item := range list {
		one, ok := item.(map[string]any)
		if !ok {
			continue
		}
		name, _ := one["name"].(string)
		namespace, _ := one["namespace"].(string)
		kind, hasKind := one["kind"].(string)
		group, hasGroup := one["group"].(string)
		if hasKind && kind != gvk.Kind || hasGroup && group != gvk.Group {
			continue
		}
		if namespace == "" {
			namespace = u.GetNamespace()
		}
		refs = append(refs, object.Ref{GVK: gvk, Namespace: namespace, Name: name})
	}
	return refs
}
