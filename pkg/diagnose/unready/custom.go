package unready

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// custom looks for the cause in the object's status and in the objects that its controller created,
// and checks whether a controller is missing.
func (v *rules) custom(u *unstructured.Unstructured) []rule.Finding {
	misses := v.Misses()
	if missing := v.references(u); len(missing) > 0 {
		v.NeedNoWarnings(u)
		return missing
	}
	found := v.owned(u)
	looked := v.Misses() == misses
	message := saying(u)
	if slices.ContainsFunc(found, func(f rule.Finding) bool { return f.Rank < rule.Consequence && !f.Passing }) {
		for i := range message {
			message[i].Rank = rule.Consequence // It follows from the objects below.
		}
	}
	found = append(found, message...)
	if looked && len(message) == 0 && len(found) == 0 && isStale(u) == nil {
		// The search for a controller needs many lists, so it comes last.
		found = append(found, v.silent(u)...)
	}
	if len(found) > 0 {
		v.NeedNoWarnings(u)
		return found
	}
	return v.warned(u)
}

// resourceClaim explains the Pods for which a ResourceClaim is reserved, and the one for which it was
// made: a claim is allocated when its Pod is scheduled.
func (v *rules) resourceClaim(u *unstructured.Unstructured) []rule.Finding {
	var pods []object.Ref
	for _, consumer := range diagnose.Items(u, "status", "reservedFor") {
		if name, _ := consumer["name"].(string); consumer["resource"] == "pods" && name != "" {
			pods = append(pods, diagnose.RefOf("v1", "Pod", u.GetNamespace(), name))
		}
	}
	if owner := metav1.GetControllerOf(u); owner != nil && owner.Kind == "Pod" && owner.APIVersion == "v1" {
		pods = append(pods, diagnose.RefOf("v1", "Pod", u.GetNamespace(), owner.Name))
	}
	slices.SortFunc(pods, object.Ref.Compare)
	pods = slices.Compact(pods)
	var found []rule.Finding
	for _, r := range pods[:min(len(pods), rule.MostDetailed)] {
		if live, _ := v.Read(r); live != nil {
			found = append(found, typed(v, live, v.pods.Explain)...)
		}
	}
	if len(found) > 0 {
		return found
	}
	return v.custom(u)
}

func (v *rules) owned(u *unstructured.Unstructured) []rule.Finding {
	if !strings.Contains(u.GroupVersionKind().Group, ".") || u.GetNamespace() == "" {
		return nil // No operator handles kinds that are built into Kubernetes.
	}
	mine := func(other *unstructured.Unstructured) bool { return ownedBy(other, u) }
	kept := "of " + string(u.GetUID())
	var workloads []*unstructured.Unstructured
	for _, gvk := range []schema.GroupVersionKind{diagnose.KindOf("apps/v1", "Deployment"), diagnose.KindOf("apps/v1", "StatefulSet"), diagnose.KindOf("apps/v1", "DaemonSet"), diagnose.KindOf("apps/v1", "ReplicaSet"), diagnose.KindOf("batch/v1", "Job")} {
		workloads = append(workloads, v.made(gvk, u.GetNamespace(), kept, mine)...)
	}
	pods := v.ReadPods(u.GetNamespace(), "", kept, mine)
	slices.SortFunc(workloads, func(a, b *unstructured.Unstructured) int { return object.RefOf(a).Compare(object.RefOf(b)) })
	var found []rule.Finding
	for i, w := range workloads {
		done := v.OnlyKnownUnless(i < rule.MostDetailed)
		found = append(found, v.subject(w)...)
		done()
	}
	for _, p := range pods.Pods {
		found = append(found, v.pods.Explain(p)...)
	}
	return found
}

func (v *rules) made(gvk schema.GroupVersionKind, namespace, kept string, intended func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	all := diagnose.Question{Verb: diagnose.List, GVK: gvk}
	if v.IsAsked(all) {
		misses := v.Misses()
		a, sure := v.Ask(all)
		if sure || v.Misses() > misses {
			return slices.DeleteFunc(slices.Clone(a.Objects), func(w *unstructured.Unstructured) bool {
				return w.GetNamespace() != namespace || !intended(w)
			})
		} // If the list of the whole cluster failed, we may still be allowed to read the namespace.
	}
	objects, _ := v.Select(diagnose.Question{GVK: gvk, Namespace: namespace, Kept: kept}, intended)
	return objects
}

func ownedBy(u, owner *unstructured.Unstructured) bool {
	return slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
}

func saying(u *unstructured.Unstructured) []rule.Finding {
	r := object.RefOf(u)
	var found []rule.Finding
	for _, s := range readiness.Read(u.Object) {
		code, message, rank := newsOf(s)
		if code == "" {
			continue
		}
		cause := event.Cause{Code: code, Message: rule.Name(r) + message + detail(s), Evidence: []string{evidence(s)}, Next: rule.Describe(r)}
		found = append(found, rule.Finding{Cause: cause, Rank: rank})
	}
	return found
}

// newsOf describes a statement as a cause. code is empty if the statement is not a cause.
func newsOf(s readiness.Statement) (code, message string, how rule.Rank) {
	what := text.Excerpt(s.Name)
	if s.Within != "" {
		what = text.Excerpt(s.Within) + " " + what
	}
	switch {
	case !s.Condition && (s.Meaning == readiness.Bad || s.Meaning == readiness.Failed):
		return "StatusSays", ": its " + what + " is " + text.Excerpt(fmt.Sprint(s.Value)), rule.Direct
	case !s.Condition:
	case (s.Meaning == readiness.Bad || s.Meaning == readiness.Failed) && s.Value == "True":
		return "Stalled", " is " + what, rule.Root
	case (s.Meaning == readiness.Bad || s.Meaning == readiness.Working) && s.Value == "False":
		return "ConditionFalse", " is not " + what, rule.Direct
	case s.Meaning == readiness.Working && s.Value == "Unknown":
		return "ConditionUnknown", ": its condition " + what + " is Unknown", rule.Direct
	case s.Meaning == readiness.Working:
		return "Reconciling", " is still being reconciled", rule.Consequence
	}
	return "", "", rule.Direct
}

func evidence(s readiness.Statement) string {
	if s.Condition {
		return rule.Line(object.Condition{Type: s.Name, Status: fmt.Sprint(s.Value), Reason: s.Reason, Message: s.Message})
	}
	return strings.TrimPrefix(s.Path, "self") + " is " + text.Excerpt(fmt.Sprint(s.Value))
}

func detail(c readiness.Statement) string {
	message := ""
	if c.Reason != "" {
		message = " (" + text.Excerpt(c.Reason) + ")"
	}
	if c.Message != "" {
		message += ": " + text.Excerpt(c.Message)
	}
	return message
}

// isStale returns the last observed generation if the object has a newer one; otherwise nil.
func isStale(u *unstructured.Unstructured) *int64 {
	value, found, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "observedGeneration")
	n, ok := object.WholeNumber(value)
	if !found || !ok || n >= u.GetGeneration() {
		return nil
	}
	return &n
}

func (v *rules) unobserved(u *unstructured.Unstructured) []rule.Finding {
	seen := isStale(u)
	if seen == nil {
		return nil
	}
	r := object.RefOf(u)
	c := event.Cause{
		Code:     "NotObserved",
		Message:  rule.Name(r) + ": the controller has not observed the latest change yet",
		Evidence: []string{fmt.Sprintf(".metadata.generation is %d, .status.observedGeneration %d", u.GetGeneration(), *seen)},
		Next:     rule.Describe(r),
	}
	return []rule.Finding{v.controller(u, c)}
}

func (v *rules) silent(u *unstructured.Unstructured) []rule.Finding {
	status, isThere, _ := unstructured.NestedFieldNoCopy(u.Object, "status")
	if fields, isMap := status.(map[string]any); isThere && status != nil && (!isMap || len(fields) > 0) {
		return nil
	}
	crd := v.Definition(u)
	if crd == nil || !hasStatus(crd, u.GroupVersionKind().Version) {
		return nil
	}
	r := object.RefOf(u)
	c := event.Cause{
		Code:     "NoController",
		Message:  rule.Name(r) + ": no status from any controller" + v.Since(u.GetCreationTimestamp()),
		Evidence: []string{".status is empty, although the CRD " + crd.GetName() + " defines one"},
		Next:     rule.Describe(object.RefOf(crd)),
	}
	return []rule.Finding{v.controller(u, c)}
}

func (v *rules) warned(u *unstructured.Unstructured) []rule.Finding {
	events := v.Warnings(u)
	if len(events) == 0 || u.GetUID() == "" {
		return nil
	}
	c := event.Cause{
		Code:    "WarningEvent",
		Message: rule.Name(object.RefOf(u)) + ": " + text.Excerpt(events[0].Reason) + ": " + text.Excerpt(events[0].Message),
		Next:    rule.Describe(object.RefOf(u)),
	}
	for _, e := range events[:min(3, len(events))] {
		c.Evidence = append(c.Evidence, rule.Quoted(e)...)
	}
	c.Evidence = rule.Distinct(c.Evidence)
	return []rule.Finding{{Cause: c, Rank: rule.Direct}}
}

func hasStatus(crd *unstructured.Unstructured, version string) bool {
	for _, m := range diagnose.Items(crd, "spec", "versions") {
		if m["name"] != version {
			continue
		}
		_, sub, _ := unstructured.NestedFieldNoCopy(m, "subresources", "status")
		_, schema, _ := unstructured.NestedFieldNoCopy(m, "schema", "openAPIV3Schema", "properties", "status")
		return sub || schema
	}
	return false
}

func (v *rules) controller(u *unstructured.Unstructured, c event.Cause) rule.Finding {
	f := rule.Finding{Cause: c, Rank: rule.Root}
	manager := diagnose.StatusManager(u)
	if manager != "" {
		f.Evidence = append(f.Evidence, "its status is written by "+text.Excerpt(manager))
	}
	if manager == "kube-controller-manager" || strings.HasSuffix(u.GroupVersionKind().Group, ".k8s.io") {
		return f // The control plane usually does not run as a workload.
	}
	if workloads, sure := v.Workloads(); !sure && len(workloads) == 0 {
		// If we are not allowed to list workloads, no Lease, role or webhook can lead us to one.
		return unknown(f)
	}
	s := v.Controller(u, "")
	for _, w := range s.Workloads {
		if state := v.State(w.Workload); state.Health != diagnose.Runs {
			return down(f, w, state)
		}
	}
	switch {
	case len(s.Workloads) > 0:
		return alive(f, s.Workloads[0])
	case s.Lease != nil:
		f.BlockedBy = s.Lease.Ref
		f.Evidence = append(f.Evidence, s.Lease.String(v.Now), "its controller's workload was not found; it may run outside the cluster")
		return f
	}
	if _, sure := v.Workloads(); !sure {
		return unknown(f)
	}
	f = asking(f)
	if !s.Sure {
		f.Evidence = append(f.Evidence, "it is unknown whether its controller is running: you are not allowed to list some kinds that could identify it")
	} else if manager != "" {
		f.Evidence = append(f.Evidence, "no Deployment or StatefulSet could be identified as "+text.Excerpt(manager))
	}
	return f
}

func unknown(f rule.Finding) rule.Finding {
	f = asking(f)
	f.Evidence = append(f.Evidence, "it is unknown whether its controller is running: you are not allowed to list Deployments")
	return f
}

func asking(f rule.Finding) rule.Finding {
	if f.Code == "NoController" {
		f.Message += "; is one installed, and does it watch this namespace?"
	}
	return f
}

func alive(f rule.Finding, w diagnose.Candidate) rule.Finding {
	f.BlockedBy = w.Ref
	f.Evidence = append(slices.Clip(f.Evidence), "its controller is probably "+rule.Name(w.Ref)+", which is ready")
	f.Next = rule.Kubectl(w.Ref.Namespace, "logs", w.Ref.Resource(), "--all-containers", "--tail=100")
	return f
}

func down(f rule.Finding, w diagnose.Candidate, state diagnose.State) rule.Finding {
	f.Code, f.BlockedBy = "ControllerDown", w.Ref
	f.Message += ": the controller, " + rule.Name(w.Ref) + ", " + state.How
	f.Evidence = slices.Clip(f.Evidence)
	switch state.Health {
	case diagnose.ScaledDown:
		f.Evidence = append(f.Evidence, rule.Name(w.Ref)+" has 0 replicas")
		f.Next = rule.Kubectl(w.Ref.Namespace, "scale", w.Ref.Resource(), "--replicas=1")
		f.Risk = "it may have been stopped on purpose; once it runs again, it will act on all its objects"
	case diagnose.Crashes:
		f.Evidence = append(f.Evidence, state.Evidence...)
		f.Next = state.Next
	default:
		f.Evidence = append(f.Evidence, rule.Name(w.Ref)+" has no ready Pod")
		f.Next = rule.Describe(w.Ref)
	}
	return f
}

func (v *rules) leaving(u *unstructured.Unstructured) []rule.Finding {
	at := u.GetDeletionTimestamp()
	if at == nil {
		return nil
	}
	c := event.Cause{
		Code:      "Terminating",
		Message:   rule.Name(object.RefOf(u)) + " has been terminating" + v.Since(*at),
		Next:      whyStuck(object.RefOf(u)),
		Evidence:  []string{".metadata.deletionTimestamp is " + at.UTC().Format(time.RFC3339)},
		BlockedBy: object.RefOf(u),
	}
	if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
		c.Evidence = append(c.Evidence, "finalizers: "+text.List(finalizers, 5))
	}
	return []rule.Finding{{Cause: c, Rank: rule.Root}}
}

func (v *rules) namespace() []rule.Finding {
	ns := v.Object.GetNamespace()
	if ns == "" {
		return nil
	}
	r := diagnose.RefOf("v1", "Namespace", "", ns)
	u := v.Find(r)
	if u == nil || u.GetDeletionTimestamp() == nil {
		return nil
	}
	var evidence []string
	for _, c := range object.Conditions(u) {
		if c.Status == "True" {
			evidence = append(evidence, rule.Line(c))
		}
	}
	return []rule.Finding{{Rank: rule.Root, Cause: event.Cause{
		Code:      "NamespaceTerminating",
		Message:   "namespace " + ns + " has been terminating" + v.Since(*u.GetDeletionTimestamp()) + ": nothing new can be created in it",
		Evidence:  evidence,
		Next:      whyStuck(r),
		BlockedBy: r,
	}}}
}

func whyStuck(ref object.Ref) string {
	return rule.Kubectl(ref.Namespace, "k8sconnect", "stuck", ref.Resource())
}

// Complains reports whether the status hints at a fault, in which case an early explanation is
// worth its cost.
func Complains(u *unstructured.Unstructured) bool {
	if slices.ContainsFunc(readiness.Read(u.Object), readiness.Statement.Complains) {
		return true
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, s := range diagnose.Items(u, "status", list) {
			reason, _, _ := unstructured.NestedString(s, "state", "waiting", "reason")
			if reason != "" && reason != "ContainerCreating" && reason != "PodInitializing" {
				return true
			}
		}
	}
	return false
}
