package stuck

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/test/commandtest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// situation is a cluster, and the causes expected for its first object.
type situation struct {
	objects string
	answers diagnosetest.Answers
	// codes are the codes of the expected causes, in order.
	codes []string
	// says are texts that the first cause must contain, in any of its fields.
	says []string
	// never are texts that no cause may contain.
	never []string
	// blockedBy is the blocking object of the first cause.
	blockedBy string
}

func (s situation) run(t *testing.T) {
	m := diagnosetest.Memory{Objects: diagnosetest.Read(t, strings.TrimSpace(s.objects)), Answers: s.answers}
	g := Explainer{Gatherer: diagnose.Gatherer{Reader: &m, Now: diagnosetest.Now}, Pause: 1}
	facts, err := g.Gather(t.Context(), m.Objects[0])
	if err != nil {
		t.Fatal(err)
	}
	causes := Diagnose(facts)
	var codes []string
	for _, c := range causes {
		codes = append(codes, c.Code)
		if slices.Contains(c.Evidence, "not deleted yet") && strings.Contains(c.Next, "--remove-finalizer") {
			t.Errorf("%s: delete refuses this for an object that is not being deleted: %s", c.Code, c.Next)
		}
		commandtest.Check(t, c.Next)
	}
	if diff := cmp.Diff(s.codes, codes); diff != "" {
		t.Errorf("codes: %s\n%+v", diff, causes)
	}
	first := causes[0]
	text := commandtest.Plain(strings.Join(append([]string{first.Message, first.Next, first.Risk}, first.Evidence...), "\n"))
	for _, say := range s.says {
		if !strings.Contains(text, say) {
			t.Errorf("the cause lacks %q:\n%s", say, text)
		}
	}
	for _, never := range s.never {
		if all := commandtest.Plain(fmt.Sprint(causes)); strings.Contains(all, never) {
			t.Errorf("the causes contain %q:\n%s", never, all)
		}
	}
	if got := blockedBy(first); got != s.blockedBy {
		t.Errorf("blocked by %q, want %q", got, s.blockedBy)
	}
}

// blockedBy returns the blocking object as Kind/namespace/name.
func blockedBy(c event.Cause) string {
	ref := c.BlockedBy
	if ref.Name == "" {
		return ""
	}
	return path.Join(ref.GVK.Kind, ref.Namespace, ref.Name)
}

func runAll(t *testing.T, situations map[string]situation) {
	for name, s := range situations {
		t.Run(name, s.run)
	}
}

// dying is the metadata of an object whose deletion was requested ten minutes ago.
const dying = `deletionTimestamp: "2026-01-01T11:50:00Z", uid: u1`

// held is a widget with a finalizer set by its operator.
const held = `
apiVersion: example.com/v1
kind: Widget
metadata:
  {name: w, namespace: shop, ` + dying + `, finalizers: [example.com/cleanup], managedFields: [
    {manager: widget-operator, operation: Update, apiVersion: example.com/v1, time: "2026-01-01T10:00:00Z",
     fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:finalizers": {".": {}, "v:\"example.com/cleanup\"": {}}}}}]}
`

func operatorWith(status string, replicas int) string {
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: widget-operator, namespace: ops}
spec:
  replicas: %d
  selector: {matchLabels: {app: op}}
  template: {metadata: {labels: {app: op}}, spec: {serviceAccountName: op, containers: [{name: manager, image: i}]}}
status: %s`, replicas, status)
}

// by returns held, but with the finalizer set by another manager.
func by(manager string) string { return strings.ReplaceAll(held, "widget-operator", manager) }

// everything is a workload that may write everything, and so may be the controller of any object.
const everything = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: all, namespace: ops}
spec:
  selector: {matchLabels: {app: all}}
  template: {metadata: {labels: {app: all}}, spec: {serviceAccountName: all, containers: [{name: manager, image: i}]}}
status: {readyReplicas: 1}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all}
subjects: [{kind: ServiceAccount, name: all, namespace: ops}]`

// updater grants the service account op the right to update widgets.
const updater = `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: up}
rules: [{apiGroups: [example.com], resources: [widgets], verbs: [update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: up}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: up}
subjects: [{kind: ServiceAccount, name: op, namespace: ops}]`

// Edge case 60.
func TestFinalizers(t *testing.T) {
	const mayUpdate = "system:serviceaccount:ops:op update"
	runAll(t, map[string]situation{
		"gone": {
			objects: held, codes: []string{FinalizerControllerGone},
			says: []string{"set by widget-operator (Update)", "called widget-operator", "--remove-finalizer=example.com/cleanup", "deleted 10m ago"},
		},
		"scaled to zero": {
			objects: held + operatorWith("{}", 0), codes: []string{FinalizerControllerScaledDown},
			says: []string{"kubectl scale deployment.apps/widget-operator -n ops --replicas=1"}, blockedBy: "Deployment/ops/widget-operator",
		},
		"crashing": {
			objects: held + operatorWith("{}", 1) + `
---
apiVersion: v1
kind: Pod
metadata: {name: op-1, namespace: ops, labels: {app: op}}
status:
  containerStatuses:
  - {name: manager, restartCount: 7, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2, reason: Error}}}`,
			codes: []string{FinalizerControllerCrashing},
			says:  []string{"restarted 7 times", "exit code 2", "kubectl logs pod/op-1 -n ops -c manager --previous"}, blockedBy: "Deployment/ops/widget-operator",
		},
		"image cannot be pulled": {
			objects: held + operatorWith("{}", 1) + `
---
apiVersion: v1
kind: Pod
metadata: {name: op-1, namespace: ops, labels: {app: op}}
status: {containerStatuses: [{name: manager, state: {waiting: {reason: ImagePullBackOff, message: "no such \u001b[31mimage\u202e"}}}]}`,
			codes: []string{FinalizerControllerNotReady}, says: []string{`ImagePullBackOff no such image\u202e`}, blockedBy: "Deployment/ops/widget-operator",
		},
		"silent": {
			objects: held + operatorWith("{readyReplicas: 1}", 1), answers: diagnosetest.Answers{May: []string{mayUpdate}},
			codes: []string{FinalizerControllerSilent}, says: []string{"has not removed it in 10m", "last wrote 2h ago", "grep w"},
			blockedBy: "Deployment/ops/widget-operator",
		},
		"lacks permission": {
			objects: held + operatorWith("{readyReplicas: 1}", 1), codes: []string{FinalizerControllerForbidden},
			says:      []string{"kubectl auth can-i update widget.example.com/w -n shop --as=system:serviceaccount:ops:op"},
			blockedBy: "ServiceAccount/ops/op",
		},
		"found by its lease": {
			objects: strings.ReplaceAll(held, "widget-operator", "manager") + strings.ReplaceAll(operatorWith("{}", 0), "widget-operator", "anything") + `
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: 8a3f.example.com, namespace: ops}
spec: {holderIdentity: anything-7d-x_1, renewTime: "2026-01-01T09:00:00.000000Z", leaseDurationSeconds: 15}`,
			codes: []string{FinalizerControllerScaledDown}, blockedBy: "Deployment/ops/anything", says: []string{"holds lease.coordination.k8s.io/8a3f.example.com"},
		},
		"a lease held from outside": {
			objects: held + `
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: 8a3f.example.com, namespace: ops}
spec: {holderIdentity: elsewhere_1, renewTime: "2026-01-01T11:59:58.000000Z", leaseDurationSeconds: 15}`,
			codes: []string{FinalizerControllerSilent}, blockedBy: "Lease/ops/8a3f.example.com", says: []string{"is held by elsewhere_1", "outside the cluster"},
		},
		"nothing identifies the controller, and nothing may write": {
			objects: by("manager"), codes: []string{FinalizerControllerGone}, says: []string{"outside the cluster would not be seen"},
		},
		"nothing identifies the controller, and a workload may write everything": {
			objects: by("manager") + everything, codes: []string{FinalizerUnknown},
			says: []string{
				"1 workload in the cluster could be the controller", "deployment.apps/all -n ops is allowed to write it (clusterrole/all)",
				"has the name of the manager", "kubectl logs deployment.apps/all -n ops --all-containers --since=1h | grep w",
			},
		},
		"the controller's name is known, so other workloads are ruled out": {
			objects: held + everything, codes: []string{FinalizerControllerGone},
		},
		"its manager wrote after the deletion": {
			objects: strings.ReplaceAll(held, "10:00:00Z", "11:55:00Z"), codes: []string{FinalizerUnknown},
			says: []string{"is active", "after its deletion was requested", "may run elsewhere"},
		},
		"the right to update is weak evidence": {
			objects: by("manager") + strings.ReplaceAll(operatorWith("{}", 0), "widget-operator", "anything") + updater,
			codes:   []string{FinalizerControllerScaledDown}, says: []string{"the probable controller"}, blockedBy: "Deployment/ops/anything",
		},
		"rights on finalizers outweigh a webhook": {
			objects: by("manager") + strings.ReplaceAll(operatorWith("{readyReplicas: 1}", 1), "widget-operator", "anything") +
				strings.Replace(updater, "resources: [widgets]", "resources: [widgets, widgets/finalizers]", 1) + webhook + `
---
{apiVersion: v1, kind: Service, metadata: {name: guard, namespace: ops}, spec: {selector: {app: policy}}}` +
				strings.NewReplacer("widget-operator", "policy", "app: op", "app: policy", "serviceAccountName: op, ", "").Replace(operatorWith("{}", 0)),
			answers: diagnosetest.Answers{May: []string{mayUpdate, " patch"}},
			codes:   []string{FinalizerControllerSilent}, blockedBy: "Deployment/ops/anything",
		},
		"rights on custom kinds point to the controller of a built-in object's finalizer": {
			objects: `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, ` + dying + `, finalizers: [example.com/hold]}}` +
				strings.ReplaceAll(operatorWith("{readyReplicas: 1}", 1), "widget-operator", "anything") + updater,
			codes: []string{FinalizerControllerForbidden}, says: []string{"has rights on kinds of example.com, from clusterrole/up"}, blockedBy: "ServiceAccount/ops/op",
		},
		"known operator": {
			objects: `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, namespace: argocd, ` + dying + `, finalizers: [resources-finalizer.argocd.argoproj.io]}}`,
			codes:   []string{FinalizerControllerGone}, says: []string{"belongs to Argo CD, which is not installed"},
		},
		"forbidden reads": { // edge case 67
			objects: held, answers: diagnosetest.Answers{Failing: map[string]error{"Deployment": diagnosetest.Forbidden("deployments"), "Lease": diagnosetest.Forbidden("leases")}},
			codes: []string{FinalizerUnknown, NotPermitted}, says: []string{"could not be determined"},
			never: []string{"no Deployment", "no service account"},
		},
		"forbidden reads for the cloud controller": { // edge case 67
			objects: `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop, ` + dying + `, finalizers: [service.kubernetes.io/load-balancer-cleanup]}}`,
			answers: diagnosetest.Answers{Failing: map[string]error{"Deployment": diagnosetest.Forbidden("deployments"), "Lease": diagnosetest.Forbidden("leases")}},
			codes:   []string{FinalizerUnknown, NotPermitted}, never: []string{"no workload"},
		},
		"a bare pod with its service account": {
			objects: by("manager") + updater + `
---
{apiVersion: v1, kind: Pod, metadata: {name: op, namespace: ops}, spec: {serviceAccountName: op}, status: {conditions: [{type: Ready, status: "True"}]}}`,
			answers: diagnosetest.Answers{May: []string{mayUpdate}},
			codes:   []string{FinalizerControllerSilent}, says: []string{"kubectl logs pod/op -n ops"}, blockedBy: "Pod/ops/op",
		},
		"a bare pod that crashes": {
			objects: by("manager") + updater + `
---
{apiVersion: v1, kind: Pod, metadata: {name: op, namespace: ops}, spec: {serviceAccountName: op},
 status: {containerStatuses: [{name: manager, restartCount: 7, state: {waiting: {reason: CrashLoopBackOff}}}]}}`,
			codes: []string{FinalizerControllerCrashing}, says: []string{"kubectl logs pod/op -n ops -c manager --previous"}, blockedBy: "Pod/ops/op",
		},
		"a finished pod is not the controller": {
			objects: by("manager") + updater + `
---
{apiVersion: v1, kind: Pod, metadata: {name: op, namespace: ops}, spec: {serviceAccountName: op}, status: {phase: Succeeded}}`,
			codes: []string{FinalizerControllerGone}, says: []string{"no workload runs as it"},
		},
		"built in": {
			objects: `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, ` + dying + `, finalizers: [batch.kubernetes.io/job-tracking]}}`,
			codes:   []string{BuiltInFinalizer}, says: []string{"job controller"},
		},
		"controller manager down": {
			objects: `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, ` + dying + `, finalizers: [batch.kubernetes.io/job-tracking]}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: kube-controller-manager, namespace: kube-system}
spec: {holderIdentity: cp-1, renewTime: "2026-01-01T11:00:00.000000Z", leaseDurationSeconds: 15}`,
			codes: []string{ControllerManagerDown}, blockedBy: "Lease/kube-system/kube-controller-manager",
		},
		"no finalizers": {
			objects: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, ` + dying + `}}`, codes: []string{Unknown},
		},
		"not being deleted": {
			objects: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}`, codes: []string{NotTerminating},
		},
	})
}

const webhook = `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- name: guard.example.com
  clientConfig: {service: {namespace: ops, name: guard}}
  rules: [{operations: [UPDATE], apiGroups: [example.com], apiVersions: [v1], resources: [widgets]}]
  sideEffects: None
  admissionReviewVersions: [v1]`

// denial is the server's answer when the webhook denies a request with a code.
func denial(code int32, reason metav1.StatusReason) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: "Failure", Code: code, Reason: reason,
		Message: `admission webhook "guard.example.com" denied the request: not on Fridays`,
	}}
}

// policyDenial is the server's answer when a policy denies a request.
func policyDenial(code int32, reason metav1.StatusReason) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: "Failure", Code: code, Reason: reason, Details: &metav1.StatusDetails{Name: "w", Causes: []metav1.StatusCause{{Message: "finalizers stay"}}},
		Message: `widgets.example.com "w" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep-all' denied request: finalizers stay`,
	}}
}

// Edge case 61.
func TestAdmission(t *testing.T) {
	unreachable := apierrors.NewInternalError(errors.New(`failed calling webhook "guard.example.com": connection refused`))
	may := []string{" patch"}
	runAll(t, map[string]situation{
		"webhook without a service": {
			objects: held + webhook, answers: diagnosetest.Answers{Refusal: unreachable, May: may},
			codes: []string{WebhookUnreachable, FinalizerControllerGone},
			says:  []string{"service/guard -n ops does not exist", "/webhooks/0/failurePolicy"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"its workload is scaled to zero": {
			objects: held + webhook + `
---
{apiVersion: v1, kind: Service, metadata: {name: guard, namespace: ops}, spec: {selector: {app: op}}}` + operatorWith("{}", 0),
			answers: diagnosetest.Answers{Refusal: unreachable, May: may},
			codes:   []string{WebhookUnreachable, FinalizerControllerScaledDown},
			says:    []string{"has no ready endpoint", "kubectl scale deployment.apps/widget-operator"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"webhook refuses the controller": {
			objects: held + webhook + operatorWith("{readyReplicas: 1}", 1),
			answers: diagnosetest.Answers{May: append(may, "system:serviceaccount:ops:op update"), Refusal: denial(http.StatusForbidden, metav1.StatusReasonForbidden)},
			codes:   []string{WebhookRefuses}, says: []string{"not on Fridays"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"webhook refuses with 400, the default": {
			objects: held + webhook, answers: diagnosetest.Answers{May: may, Refusal: denial(http.StatusBadRequest, metav1.StatusReasonBadRequest)},
			codes: []string{WebhookRefuses, FinalizerControllerGone}, says: []string{"not on Fridays"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"webhook refuses with 500": {
			objects: held + webhook, answers: diagnosetest.Answers{May: may, Refusal: denial(http.StatusInternalServerError, metav1.StatusReasonInternalError)},
			codes: []string{WebhookRefuses, FinalizerControllerGone}, says: []string{"not on Fridays"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"webhook refuses with 404": {
			objects: held + webhook, answers: diagnosetest.Answers{May: may, Refusal: denial(http.StatusNotFound, metav1.StatusReasonNotFound)},
			codes: []string{WebhookRefuses, FinalizerControllerGone}, says: []string{"not on Fridays"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"webhook does not support dry runs": {
			objects: held + webhook, answers: diagnosetest.Answers{May: may, Refusal: apierrors.NewBadRequest(`admission webhook "guard.example.com" does not support dry run`)},
			codes: []string{WebhookUnreachable, FinalizerControllerGone}, says: []string{"no dry run was possible"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"webhook refuses with 500 and no reason": {
			objects: held + webhook,
			answers: diagnosetest.Answers{May: may, Refusal: &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: "Failure", Code: http.StatusInternalServerError,
				Message: `admission webhook "guard.example.com" denied the request: no database`,
			}}},
			codes: []string{WebhookRefuses, FinalizerControllerGone}, says: []string{"no database"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"policy refuses": {
			objects: held, answers: diagnosetest.Answers{May: may, Refusal: policyDenial(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)},
			codes: []string{AdmissionRefuses, FinalizerControllerGone},
			says:  []string{"the ValidatingAdmissionPolicy keep refuses the update", "finalizers stay", "get validatingadmissionpolicy.admissionregistration.k8s.io/keep -o yaml"}, blockedBy: "ValidatingAdmissionPolicy/keep",
		},
		"policy refuses with 403": {
			objects: held, answers: diagnosetest.Answers{May: may, Refusal: policyDenial(http.StatusForbidden, metav1.StatusReasonForbidden)},
			codes: []string{AdmissionRefuses, FinalizerControllerGone}, says: []string{"finalizers stay"}, blockedBy: "ValidatingAdmissionPolicy/keep",
		},
		"admission plugin refuses": {
			objects: held, answers: diagnosetest.Answers{May: may, Refusal: apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "w", errors.New("not while frozen"))},
			codes: []string{AdmissionRefuses, FinalizerControllerGone}, says: []string{"not while frozen"}, blockedBy: "Widget/shop/w",
		},
		"object no longer valid": {
			objects: held, answers: diagnosetest.Answers{May: may, Refusal: apierrors.NewInvalid(schema.GroupKind{Kind: "Widget"}, "w",
				field.ErrorList{field.Required(field.NewPath("spec", "size"), "")})},
			codes: []string{UpdateInvalid, FinalizerControllerGone}, says: []string{"spec.size", "kubectl edit"}, blockedBy: "Widget/shop/w",
		},
		"the update is forbidden": {
			objects: held + webhook, answers: diagnosetest.Answers{Refusal: diagnosetest.Forbidden("widgets")},
			codes: []string{WebhookUnreachable, FinalizerControllerGone, NotPermitted}, says: []string{"no dry run was possible"}, blockedBy: "ValidatingWebhookConfiguration/guard",
		},
		"refusal about a Secret": {
			objects: `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop, ` + dying + `, finalizers: [example.com/x]}}`,
			answers: diagnosetest.Answers{May: may, Refusal: apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s",
				field.ErrorList{field.Invalid(field.NewPath("data"), "hunter2", "")})},
			codes: []string{UpdateInvalid, FinalizerControllerGone}, says: []string{"the server returned 422 Invalid"}, blockedBy: "Secret/shop/s",
		},
	})
}

func TestHooksMatch(t *testing.T) {
	for name, tc := range map[string]struct {
		change [2]string
		want   int
	}{
		"matches":                  {want: 1},
		"another operation":        {change: [2]string{"[UPDATE]", "[CREATE]"}},
		"every operation":          {change: [2]string{"[UPDATE]", "['*']"}, want: 1},
		"another group":            {change: [2]string{"[example.com]", "[apps]"}},
		"another version":          {change: [2]string{"[v1], resources", "[v2], resources"}, want: 1}, // the default policy is Equivalent
		"another version, exact":   {change: [2]string{"  sideEffects", "  matchPolicy: Exact\n  rules: [{operations: [UPDATE], apiGroups: [example.com], apiVersions: [v2], resources: [widgets]}]\n  sideEffects"}},
		"a subresource":            {change: [2]string{"[widgets]", "[widgets/status]"}},
		"the object and its parts": {change: [2]string{"[widgets]", "['widgets/*']"}, want: 1},
		"cluster scope":            {change: [2]string{"{operations", "{scope: Cluster, operations"}},
		"other labels":             {change: [2]string{"  sideEffects", "  objectSelector: {matchLabels: {a: b}}\n  sideEffects"}},
		"a matching namespace":     {change: [2]string{"  sideEffects", "  namespaceSelector: {matchLabels: {tier: prod}}\n  sideEffects"}, want: 1},
		"another namespace":        {change: [2]string{"  sideEffects", "  namespaceSelector: {matchLabels: {tier: test}}\n  sideEffects"}},
		"any labeled namespace":    {change: [2]string{"  sideEffects", "  namespaceSelector: {matchExpressions: [{key: tier, operator: Exists}]}\n  sideEffects"}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			text := webhook
			if tc.change[0] != "" {
				text = strings.Replace(text, tc.change[0], tc.change[1], 1)
			}
			if strings.Contains(text, "Exact") { // Use only the second rule.
				text = strings.Replace(text, "  rules: [{operations: [UPDATE], apiGroups: [example.com], apiVersions: [v1], resources: [widgets]}]\n", "", 1)
			}
			m := diagnosetest.Memory{Objects: diagnosetest.Read(t, strings.TrimSpace(held+text+"\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {tier: prod}}}"))}
			g := Explainer{Gatherer: diagnose.Gatherer{Reader: &m, Now: diagnosetest.Now}}
			facts, err := g.Gather(t.Context(), m.Objects[0])
			if err != nil {
				t.Fatal(err)
			}
			r := diagnose.NewRun(diagnosetest.Now(), facts.known)
			if got := r.HooksFor(m.Objects[0], "UPDATE"); len(got) != tc.want {
				t.Errorf("%d webhooks match, want %d", len(got), tc.want)
			}
		})
	}
}
