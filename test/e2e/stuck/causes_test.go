package stuck_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	harness "github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// closedPort returns a webhook for updates of a kind in a namespace, without a server.
func closedPort(ns, resources string) string {
	return fmt.Sprintf(`---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: closed.example.com
  clientConfig: {url: "https://127.0.0.1:1/validate"}
  rules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [%[2]s]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 2
`, ns, resources)
}

// uid returns the UID that distinguishes an object from another with its name.
func uid(t *testing.T, c *harness.Cluster, args ...string) string {
	t.Helper()
	return e2etest.Kubectl(t, c, append([]string{"get", "-o", "jsonpath={.metadata.uid}"}, args...)...)
}

// Edge case 62: an owner in another namespace is invalid. The garbage collector reports that in an
// Event, deletes the dependent, and does not let the owner wait for it.
func TestStuckOwnerInOtherNamespace(t *testing.T) {
	c := shared.Cluster(t)
	ns, elsewhere := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "configmap", "owner", "-n", ns, "--from-literal=a=b")
	// The plugin refuses to apply such an object.
	e2etest.Kubectl(t, c, "apply", "-n", elsewhere, "-f", e2etest.File(t, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: dependent
  finalizers: [example.com/hold]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s, blockOwnerDeletion: true}]
`, uid(t, c, "configmap/owner", "-n", ns))))
	e2etest.Until(t, "the garbage collector says so", func() bool {
		return strings.Contains(e2etest.Kubectl(t, c, "get", "events", "-n", elsewhere, "-o", "jsonpath={.items[*].reason}"), "OwnerRefInvalidNamespace")
	})
	dying(t, c, "configmap/owner", "-n", ns, "--cascade=foreground")
	var cause event.Cause
	e2etest.Until(t, "it is looked for elsewhere", func() bool {
		cause = why(t, c, "v1", "ConfigMap", ns, "owner")[0]
		return cause.Code == stuck.OwnerInOtherNamespace
	})
	if cause.BlockedBy.Namespace != elsewhere || cause.BlockedBy.Name != "dependent" {
		t.Errorf("blocked by %s, want the dependent", cause.BlockedBy)
	}
	verbSays(t, c, stuck.OwnerInOtherNamespace, "configmap/owner", "-n", ns)
	follow(t, c, cause)
	gone(t, c, "configmap/owner", "-n", ns)
	letGoOf(t, c, "configmap/dependent", "-n", elsewhere)
}

// Edge case 62: an object whose dependents have to be released first waits for a webhook that is
// called for them.
func TestStuckOrphan(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "configmap", "owner", "-n", ns, "--from-literal=a=b")
	applied(t, c, ns, closedPort(ns, "secrets")+fmt.Sprintf(`---
apiVersion: v1
kind: Secret
metadata: {name: dependent, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s}]}
stringData: {password: hunter2hunter2}
`, uid(t, c, "configmap/owner", "-n", ns)))
	defer e2etest.Kubectl(t, c, "delete", "validatingwebhookconfiguration/"+ns)
	e2etest.Until(t, "the webhook is asked", func() bool {
		return !succeeds(t, c, "annotate", "secret/dependent", "-n", ns, "touched=yes", "--overwrite")
	})
	dying(t, c, "configmap/owner", "-n", ns, "--cascade=orphan")
	causes := why(t, c, "v1", "ConfigMap", ns, "owner")
	cause := first(t, causes, stuck.WebhookUnreachable)
	if len(causes) < 2 || causes[1].Code != stuck.OrphaningDependents || causes[1].BlockedBy.Name != "dependent" {
		t.Error("the dependents to release are not reported")
	}
	if strings.Contains(fmt.Sprint(causes), "hunter2") {
		t.Error("the causes contain the value of a Secret")
	}
	verbSays(t, c, stuck.WebhookUnreachable, "configmap/owner", "-n", ns)
	follow(t, c, cause)
	gone(t, c, "configmap/owner", "-n", ns)
	if owners := e2etest.Kubectl(t, c, "get", "secret/dependent", "-n", ns, "-o", "jsonpath={.metadata.ownerReferences}"); owners != "" {
		t.Errorf("its dependent was not released: %s", owners)
	}
}

// Edge case 60: a controller whose pod keeps crashing.
func TestStuckControllerCrashing(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	operator := ns + "-operator" // Its name is unique in the cluster.
	applied(t, c, ns, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  selector: {matchLabels: {app: op}}
  template:
    metadata: {labels: {app: op}}
    spec: {containers: [{name: manager, image: example.com/manager:1}]}
`, operator))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Held("one", "example.com/hold")), "--field-manager="+operator).Ends(t, 0)
	var pod string
	e2etest.Until(t, "its pod runs", func() bool {
		pod = e2etest.Kubectl(t, c, "get", "pod", "-n", ns, "-l", "app=op", "--field-selector=status.phase=Running", "-o", "name")
		return pod != ""
	})
	e2etest.Kubectl(t, c, "patch", strings.TrimSpace(pod), "-n", ns, "--subresource=status", "--type=merge", "-p", `{"status":{
		"conditions": [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "False"}],
		"containerStatuses": [{"name": "manager", "image": "i", "imageID": "", "ready": false, "restartCount": 7,
			"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 2, "reason": "Error"}}}]}}`)
	dying(t, c, "configmap/one", "-n", ns)
	var cause event.Cause
	e2etest.Until(t, "the deployment is not ready", func() bool {
		cause = why(t, c, "v1", "ConfigMap", ns, "one")[0]
		return cause.Code == stuck.FinalizerControllerCrashing
	})
	message := strings.Join(cause.Evidence, "\n")
	if !strings.Contains(message, "restarted 7 times") || !strings.Contains(message, "exit code 2") || !strings.Contains(cause.Next, "--previous") {
		t.Errorf("evidence %q, next %s", cause.Evidence, cause.Next) // not run: kwok has no logs
	}
	verbSays(t, c, stuck.FinalizerControllerCrashing, "configmap/one", "-n", ns)
	letGoOf(t, c, "configmap/one", "-n", ns)
}

// The server fails only the update that removes the finalizer.
func TestStuckUpdateFails(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, e2etest.Held("one", "example.com/hold"))
	dying(t, c, "configmap/one", "-n", ns)
	p, kubeconfig := e2etest.Proxied(t, c)
	p.Fail(-1, proxy.Path(http.MethodPatch, "/api/v1/namespaces/"+ns), proxy.Fault{Status: http.StatusInternalServerError, Message: "etcdserver: no space"})
	r := e2etest.Plugin(t, kubeconfig, "stuck", "configmap/one", "-n", ns).Ends(t, 1)
	r.Says(t, stuck.UpdateFails).Says(t, "etcdserver: no space").Says(t, "kubectl get --raw '/readyz?verbose'")
	if strings.Index(r.Stdout.String(), stuck.UpdateFails) > strings.Index(r.Stdout.String(), stuck.FinalizerControllerGone) {
		t.Errorf("UpdateFails is not the first cause: %s", r)
	}
	follow(t, c, event.Cause{Next: "kubectl get --raw '/readyz?verbose'"})
	letGoOf(t, c, "configmap/one", "-n", ns)
}

// Edge case 59: a group version that cannot be read. This cluster has no controllers, so the
// condition stays as set.
func TestStuckGroupVersionUnreadable(t *testing.T) {
	t.Parallel() // uses its own cluster
	c := harness.ForTest(t, harness.Options{})
	ns := e2etest.Namespace(t, c)
	dying(t, c, "namespace/"+ns)
	e2etest.Kubectl(t, c, "patch", "namespace/"+ns, "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[
		{"type": "NamespaceDeletionGroupVersionParsingFailure", "status": "True", "reason": "GroupVersionParsingFailed",
		 "message": "unexpected GroupVersion string: a/b/c", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`)
	cause := first(t, why(t, c, "v1", "Namespace", "", ns), stuck.GroupVersionUnreadable)
	if !strings.Contains(strings.Join(cause.Evidence, " "), "a/b/c") {
		t.Errorf("evidence %q", cause.Evidence)
	}
	verbSays(t, c, stuck.GroupVersionUnreadable, "namespace", ns)
	follow(t, c, cause)
}

// Edge case 66: an object is encrypted with a key that the API server no longer has. With the key,
// the namespace is removed. (A starting API server reads all objects of cached kinds before it is
// ready; this kind has no objects here.)
func TestStuckUndecryptable(t *testing.T) {
	circle.Full(t)
	t.Parallel() // uses its own cluster
	encryption := filepath.Join(t.TempDir(), "encryption.yaml")
	key := func(secret string) {
		t.Helper()
		text := fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources: [{resources: [podtemplates], providers: [{aesgcm: {keys: [{name: key-%[1]s, secret: %[1]s}]}}, {identity: {}}]}]
`, secret)
		if err := os.WriteFile(encryption, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ours, another = "MDEyMzQ1Njc4OWFiY2RlZg==", "ZmVkY2JhOTg3NjU0MzIxMA=="
	key(ours)
	c := harness.ForTest(t, harness.Options{Controllers: true, APIServerArgs: []string{
		"--encryption-provider-config=" + encryption, "--watch-cache-sizes=podtemplates#0",
		"--feature-gates=AllowUnsafeMalformedObjectDeletion=true",
	}})
	restart := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := c.StopAPIServer(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.StartAPIServer(ctx); err != nil {
			t.Fatal(err)
		}
	}
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, `
apiVersion: v1
kind: PodTemplate
metadata: {name: one}
template: {spec: {containers: [{name: app, image: example.com/app:1}]}}
`)
	key(another)
	restart()
	dying(t, c, "namespace/"+ns)
	e2etest.Until(t, "its contents cannot be deleted", func() bool {
		return strings.Contains(e2etest.Kubectl(t, c, "get", "namespace/"+ns, "-o", "jsonpath={.status.conditions}"), "ContentDeletionFailed")
	})
	cause := first(t, why(t, c, "v1", "Namespace", "", ns), stuck.Undecryptable)
	if !strings.Contains(strings.Join(cause.Evidence, " "), "podtemplate") {
		t.Errorf("evidence %q", cause.Evidence)
	}
	verbSays(t, c, stuck.Undecryptable, "namespace", ns)
	key(ours) // what it reports
	restart()
	gone(t, c, "namespace/"+ns)
}

// succeeds reports whether kubectl succeeds.
func succeeds(t *testing.T, c *harness.Cluster, args ...string) bool {
	t.Helper()
	return e2etest.KubectlCommand(t, c, args...).Run() == nil
}
