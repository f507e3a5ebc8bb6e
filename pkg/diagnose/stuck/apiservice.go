package stuck

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// deadAPIs returns the aggregated APIs whose server does not answer, and why.
func (d *diagnosis) deadAPIs() (found []finding, sure bool) {
	services, sure := d.List(diagnose.KindOf("apiregistration.k8s.io/v1", "APIService"), "")
	for _, u := range services {
		if object.ConditionOf(u, "Available").Status == "True" || diagnose.Text(u, "spec", "service", "name") == "" {
			continue
		}
		found = append(found, d.deadAPI(u))
	}
	return found, sure
}

func (d *diagnosis) deadAPI(u *unstructured.Unstructured) finding {
	ref := object.RefOf(u)
	b := d.Backend(diagnose.Service{Namespace: diagnose.Text(u, "spec", "service", "namespace"), Name: diagnose.Text(u, "spec", "service", "name")})
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:      APIServiceUnavailable,
		Message:   "the aggregated API " + text.Excerpt(u.GetName()) + " does not answer, so it is unknown which of its objects the namespace holds",
		Evidence:  append([]string{"Available: " + said(object.ConditionOf(u, "Available"))}, b.Evidence...),
		Next:      command.Kubectl("delete") + " " + diagnose.On(ref),
		Risk:      "the API is gone until it is registered again; objects that its server stores for this namespace are not deleted",
		BlockedBy: ref,
	}}
	if b.Next != "" {
		f.Next, f.Risk = b.Next, ""
	}
	return f
}

// unreadable says that an API answers, but gives its group and version in a malformed
// form, so that its kinds cannot be listed.
func (d *diagnosis) unreadable(said []string) finding {
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:     GroupVersionUnreadable,
		Message:  "an API of the cluster reports a malformed group and version, so it is unknown which of its objects the namespace holds",
		Evidence: said,
		Next:     command.Kubectl("get") + " apiservices.apiregistration.k8s.io",
		Risk:     "deleting the APIService at fault removes its API until it is registered again",
	}}
	services, _ := d.List(diagnose.KindOf("apiregistration.k8s.io/v1", "APIService"), "")
	var aggregated []string
	for _, u := range services {
		if diagnose.Text(u, "spec", "service", "name") != "" {
			aggregated = append(aggregated, "aggregated API "+text.Excerpt(u.GetName()))
		}
	}
	f.Evidence = append(f.Evidence, diagnose.Some(aggregated, 5)...)
	return f
}
