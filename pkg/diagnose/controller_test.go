package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// shape is a cluster that has a widget whose controller does not act.
type shape struct {
	// fields are the managed fields of the widget, and status is its status.
	fields, status string
	// others are the other objects in the cluster.
	others []string
	// want is the controller that every command has to name; empty if the controller cannot be
	// known.
	want string
}

// widget returns the widget. If dying is set, its deletion was requested.
func (s shape) widget(dying bool) string {
	metadata := `name: w, namespace: shop, uid: w-1, generation: 2, finalizers: [example.com/cleanup], managedFields: [` + s.fields + `]`
	if dying {
		metadata += `, deletionTimestamp: "2026-01-01T11:50:00Z"`
	}
	return `{apiVersion: example.com/v1, kind: Widget, metadata: {` + metadata + `}, status: {` + s.status + `}}`
}

// cluster returns a cluster with the widget and the other objects.
func (s shape) cluster(t *testing.T, dying bool) (*diagnosetest.Memory, *unstructured.Unstructured) {
	t.Helper()
	definition := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com, labels: {app.kubernetes.io/name: widgets}},
  spec: {group: example.com, names: {kind: Widget, plural: widgets}, versions: [{name: v1, subresources: {status: {}}}]}}`
	objects := diagnosetest.Read(t, strings.Join(append([]string{s.widget(dying), definition}, s.others...), "\n---\n"))
	may := diagnosetest.Answers{May: []string{"system:serviceaccount:ops:op update", "system:serviceaccount:ops:default update"}}
	return &diagnosetest.Memory{Objects: objects, Answers: may}, objects[0]
}

// byWait returns the causes that wait reports. byDelete returns those that delete and stuck NAME
// report, and byStuck those that stuck -A reports.
func (s shape) byWait(t *testing.T) []event.Cause {
	t.Helper()
	m, live := s.cluster(t, false)
	facts, err := unready.Gather(t.Context(), m, live)
	if err != nil {
		t.Fatal(err)
	}
	facts.Now = diagnosetest.Now()
	return unready.Diagnose(facts)
}

func (s shape) byDelete(t *testing.T) []event.Cause {
	t.Helper()
	m, live := s.cluster(t, true)
	e := stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: m, Now: diagnosetest.Now}}
	causes, err := e.Explain(t.Context(), object.Kind{}, live)
	if err != nil {
		t.Fatal(err)
	}
	return causes
}

func (s shape) byStuck(t *testing.T) []event.Cause {
	t.Helper()
	m, _ := s.cluster(t, true)
	e := stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: m, Now: diagnosetest.Now}}
	_, objects, err := e.Survey(t.Context(), stuck.Scope{})
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	return objects[0].Causes
}

// operator returns a Deployment whose Pods use a service account.
func operator(name, labels, account, image string, replicas, ready int) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s, namespace: ops, uid: %[1]s, labels: {%[2]s}},
  spec: {replicas: %[5]d, selector: {matchLabels: {op: %[1]s}}, template: {metadata: {labels: {op: %[1]s}}, spec: {serviceAccountName: %[3]s, containers: [{name: c, image: %[4]q}]}}},
  status: {readyReplicas: %[6]d}}`, name, labels, account, image, replicas, ready)
}

func pod(name, labels, account, owner, status string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, namespace: ops, uid: ` + name + `, labels: {` + labels + `}, ownerReferences: [` + owner + `]},
  spec: {nodeName: node-1, serviceAccountName: ` + account + `, containers: [{name: c}]}, status: {` + status + `}}`
}

const (
	statusBy    = `{manager: %s, operation: Update, apiVersion: example.com/v1, subresource: status, time: "2026-01-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}`
	finalizerBy = `{manager: %s, operation: Update, apiVersion: example.com/v1, time: "2026-01-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:finalizers": {".": {}, "v:\"example.com/cleanup\"": {}}}}}`
	rights      = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: op}, rules: [{apiGroups: [example.com], resources: [widgets, widgets/status], verbs: [update]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: op}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: op}, subjects: [{kind: ServiceAccount, name: op, namespace: ops}]}`
	lease = `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a1b2.example.com, namespace: ops}, spec: {holderIdentity: elsewhere_1, leaseDurationSeconds: 15, renewTime: "2026-01-01T11:59:55.000000Z"}}`
	hook  = `{apiVersion: v1, kind: Service, metadata: {name: hook, namespace: ops}, spec: {selector: {op: hook}}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: hook}, webhooks: [{name: hook.example.com, failurePolicy: Ignore, clientConfig: {service: {namespace: ops, name: hook}}, rules: [{operations: [UPDATE], apiGroups: [example.com], apiVersions: [v1], resources: [widgets]}]}]}`
	plain = "registry.example/x:1"
)

// All commands name the same controller, regardless of what identifies the controller and of its
// state.
func TestCommandsNameTheSameController(t *testing.T) {
	crashing := pod("op-1", "op: op", "op", "", `phase: Running, containerStatuses: [{name: c, restartCount: 9, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2, reason: Error}}}]`)
	other := operator("other", "", "other", plain, 0, 0)
	by := func(field, manager string) string { return fmt.Sprintf(field, manager) }
	for name, s := range map[string]shape{
		"by label, not ready":                   {others: []string{operator("op", "app.kubernetes.io/name: widgets", "op", plain, 1, 0), other}, want: "deployment.apps/op -n ops"},
		"by label, scaled to zero":              {others: []string{operator("op", "app.kubernetes.io/name: widgets", "op", plain, 0, 0), other}, want: "deployment.apps/op -n ops"},
		"by label, running":                     {others: []string{operator("op", "app.kubernetes.io/name: widgets", "op", plain, 1, 1), other}, want: "deployment.apps/op -n ops"},
		"by the manager of its status":          {fields: by(statusBy, "op"), status: "observedGeneration: 1", others: []string{operator("op", "", "op", plain, 0, 0), other}, want: "deployment.apps/op -n ops"},
		"by the program that wrote its status":  {fields: by(statusBy, "widgetd"), status: "observedGeneration: 1", others: []string{operator("op", "", "op", "registry.example/widgetd:1@sha256:aa", 1, 0), other}, want: "deployment.apps/op -n ops"},
		"by the manager that set the finalizer": {fields: by(finalizerBy, "op"), others: []string{operator("op", "", "op", plain, 0, 0), other}, want: "deployment.apps/op -n ops"},
		"by RBAC rights":                        {others: []string{rights, operator("op", "", "op", plain, 0, 0), other}, want: "deployment.apps/op -n ops"},
		"by RBAC rights, crashing":              {others: []string{rights, operator("op", "", "op", plain, 1, 0), crashing, other}, want: "deployment.apps/op -n ops"},
		"by a webhook":                          {others: []string{hook, operator("hook", "", "default", plain, 1, 1), other}, want: "deployment.apps/hook -n ops"},
		"Pod owned by a custom resource":        {others: []string{rights, other, pod("op-1", "", "op", "{apiVersion: apps.example.org/v1, kind: CloneSet, name: op, uid: c-1, controller: true}", "phase: Running")}, want: "pod/op-1 -n ops"},
		"outside the cluster":                   {others: []string{lease, other}, want: "lease.coordination.k8s.io/a1b2.example.com -n ops"},
		"not found":                             {others: []string{other}},
		"known by name, so other workloads of the application are ruled out": {
			fields: by(finalizerBy, "uninstalled"),
			others: []string{operator("ui", "app.kubernetes.io/name: widgets", "ui", plain, 1, 1)},
		},
		"known by account, so other workloads of the application are ruled out": {
			others: []string{rights, operator("ui", "app.kubernetes.io/name: widgets", "ui", plain, 1, 1)},
		},
		"rights outweigh a label": {
			others: []string{rights, operator("op", "", "op", plain, 0, 0), operator("web", "app.kubernetes.io/name: widgets", "web", plain, 1, 0)},
			want:   "deployment.apps/op -n ops",
		},
		"two managers, one of them with RBAC rights": {
			fields: by(finalizerBy, "op") + ", " + by(statusBy, "second"), status: "observedGeneration: 1",
			others: []string{rights, operator("op", "", "op", plain, 0, 0), operator("second", "", "default", plain, 1, 0)},
			want:   "deployment.apps/op -n ops",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for verb, causes := range map[string][]event.Cause{"wait": s.byWait(t), "delete": s.byDelete(t), "stuck": s.byStuck(t)} {
				named := ""
				for _, c := range causes {
					if c.BlockedBy.Name != "" {
						named = c.BlockedBy.String()
						break
					}
				}
				if named != s.want {
					t.Errorf("%s names %q, want %q: %+v", verb, named, s.want, causes)
				}
			}
		})
	}
}
