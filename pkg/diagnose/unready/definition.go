package unready

import (
	"cmp"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func (v *rules) definition(u *unstructured.Unstructured) []rule.Finding {
	r := object.RefOf(u)
	var found []rule.Finding
	if c := object.ConditionOf(u, "NamesAccepted"); c.Status == "False" {
		cause := event.Cause{
			Code:     "NamesConflict",
			Message:  rule.Name(r) + " is not served: another CRD in its group already has one of its names (" + text.Excerpt(c.Reason) + ")",
			Evidence: []string{rule.Line(c)},
			Next:     rule.Kubectl("", "get", "customresourcedefinitions", "-o", "custom-columns=NAME:.metadata.name,KIND:.status.acceptedNames.kind,SHORT:.status.acceptedNames.shortNames"),
		}
		if other := v.rival(u); other != nil {
			cause.BlockedBy = object.RefOf(other)
			cause.Evidence = append(cause.Evidence, "CustomResourceDefinition "+other.GetName()+" has that name")
		}
		found = append(found, rule.Finding{Cause: cause, Rank: rule.Root})
	}
	if c := object.ConditionOf(u, "NonStructuralSchema"); c.Status == "True" {
		found = append(found, rule.Finding{Rank: rule.Root, Cause: event.Cause{
			Code:      "SchemaNotStructural",
			Message:   rule.Name(r) + " has a schema that is not structural: " + text.Excerpt(c.Message),
			Evidence:  []string{rule.Line(c)},
			Next:      rule.Get(r),
			BlockedBy: r,
		}})
	}
	if c := object.ConditionOf(u, "KubernetesAPIApprovalPolicyConformant"); c.Status == "False" {
		found = append(found, rule.Finding{Rank: rule.Direct, Cause: event.Cause{
			Code:      "GroupProtected",
			Message:   rule.Name(r) + " is in a group reserved for Kubernetes, without the required approval",
			Evidence:  []string{rule.Line(c)},
			Next:      rule.Get(r),
			BlockedBy: r,
		}})
	}
	if c := object.ConditionOf(u, "Established"); c.Status != "True" && len(found) == 0 && u.GetDeletionTimestamp() == nil {
		cause := event.Cause{Code: "NotEstablished", Message: rule.Name(r) + " is not established yet", Next: rule.Describe(r)}
		if c.Type != "" {
			cause.Evidence = []string{rule.Line(c)}
		}
		found = append(found, rule.Finding{Cause: cause, Rank: rule.Direct})
	}
	return found
}

func (v *rules) rival(u *unstructured.Unstructured) *unstructured.Unstructured {
	wanted := definedNames(u, "spec", "names")
	group := groupOf(u)
	others, _ := v.Select(diagnose.Question{GVK: diagnose.KindOf("apiextensions.k8s.io/v1", "CustomResourceDefinition"), Kept: "of " + group}, func(other *unstructured.Unstructured) bool {
		unstructured.RemoveNestedField(other.Object, "spec", "versions") // Schemas are large.
		return groupOf(other) == group
	})
	for _, other := range others {
		if other.GetName() == u.GetName() {
			continue
		}
		for _, name := range definedNames(other, "status", "acceptedNames") {
			if slices.Contains(wanted, name) {
				return other
			}
		}
	}
	return nil
}

func groupOf(definition *unstructured.Unstructured) string {
	return diagnose.Text(definition, "spec", "group")
}

func definedNames(definition *unstructured.Unstructured, path ...string) []string {
	var out []string
	for _, field := range []string{"plural", "singular", "kind", "listKind"} {
		out = append(out, diagnose.Text(definition, append(slices.Clip(path), field)...))
	}
	short, _, _ := unstructured.NestedStringSlice(definition.Object, append(slices.Clip(path), "shortNames")...)
	return rule.Distinct(append(out, short...))
}

func (v *rules) apiService(u *unstructured.Unstructured) []rule.Finding {
	r := object.RefOf(u)
	available := object.ConditionOf(u, "Available")
	if available.Status == "True" {
		return nil
	}
	cause := event.Cause{
		Code:     "APIServiceUnavailable",
		Message:  rule.Name(r) + " is not available (" + text.Excerpt(available.Reason) + ")",
		Evidence: []string{rule.Line(available)},
		Next:     rule.Describe(r),
	}
	if available.Type == "" {
		cause.Message = rule.Name(r) + " has not been checked yet"
		cause.Evidence = []string{"it has no condition Available"}
	}
	backend := diagnose.RefOf("v1", "Service", diagnose.Text(u, "spec", "service", "namespace"), diagnose.Text(u, "spec", "service", "name"))
	if backend.Name == "" {
		return []rule.Finding{{Cause: cause, Rank: rule.Direct}}
	}
	cause.BlockedBy = backend
	served, sure := v.Read(backend)
	if served == nil && sure {
		cause.Code = "ServiceMissing"
		cause.Message = rule.Name(r) + " is not available: its " + rule.Name(backend) + " does not exist"
		cause.Next = rule.Kubectl(backend.Namespace, "get", "services")
		return []rule.Finding{{Cause: cause, Rank: rule.Root}}
	}
	var found []rule.Finding
	if s, ok := rule.As[corev1.Service](v.View, served); ok && s.Spec.Type != corev1.ServiceTypeExternalName {
		found = v.endpoints(s)
		cause.Evidence = append(cause.Evidence, "it is served by "+rule.Name(backend))
	}
	if len(found) > 0 {
		return append(found, rule.Finding{Cause: cause, Rank: rule.Consequence})
	}
	return []rule.Finding{{Cause: cause, Rank: rule.Direct}}
}

func (v *rules) autoscaler(u *unstructured.Unstructured) []rule.Finding {
	r := object.RefOf(u)
	target := func(field string) string { return diagnose.Text(u, "spec", "scaleTargetRef", field) }
	metrics := diagnose.RefOf("apiregistration.k8s.io/v1", "APIService", "", "v1beta1.metrics.k8s.io") // CPU and memory usage
	var found []rule.Finding
	for _, kind := range []string{"AbleToScale", "ScalingActive"} {
		c := object.ConditionOf(u, kind)
		if c.Status != "False" {
			continue
		}
		cause := event.Cause{
			Code:      "AutoscalerInactive",
			Message:   rule.Name(r) + " does not scale (" + text.Excerpt(c.Reason) + "): " + text.Excerpt(c.Message),
			Evidence:  []string{rule.Line(c)},
			Next:      rule.Describe(r),
			BlockedBy: diagnose.RefOf(cmp.Or(target("apiVersion"), "v1"), target("kind"), u.GetNamespace(), target("name")),
		}
		if c.Reason == "FailedGetResourceMetric" && v.Absent(metrics) {
			cause.Code = "NoMetrics"
			cause.Message = rule.Name(r) + " does not scale: nothing in the cluster serves the resource metrics API (metrics-server)"
			cause.Next = rule.Kubectl("", "get", "apiservices")
			cause.BlockedBy = metrics
		}
		found = append(found, rule.Finding{Cause: cause, Rank: rule.Root})
	}
	return found
}
