package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// The tests in this file run the whole plugin during failures of the server.

// run is a running plugin.
type run struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr output
}

// output is a program's output so far.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // has a token when there is new output
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.written <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts the plugin with its own HOME, and so its own cache, unless home is set.
func start(t *testing.T, home, kubeconfig string, args ...string) *run {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if home == "" {
		home = t.TempDir()
	}
	r := &run{Cmd: exec.Command(program, args...), t: t}
	r.Args[0] = "kubectl-k8sconnect" // what this binary goes by (TestMain)
	r.Env = append(os.Environ(), "HOME="+home, "KUBECONFIG="+kubeconfig)
	r.stdout.written, r.stderr.written = make(chan struct{}, 1), make(chan struct{}, 1)
	r.Stdout, r.Stderr = &r.stdout, &r.stderr
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// says waits until the plugin prints a text on stderr.
func (r *run) says(text string) {
	r.t.Helper()
	for !strings.Contains(r.stderr.String(), text) {
		select {
		case <-r.stderr.written:
		case <-time.After(10 * time.Minute):
			r.t.Fatalf("stderr never contained %q:\n%s", text, r.stderr.String())
		}
	}
}

// ends waits for the end and checks the exit status.
func (r *run) ends(status int) {
	r.t.Helper()
	_ = r.Wait() // shown by the status
	if got := r.ProcessState.ExitCode(); got != status {
		r.t.Fatalf("exit status %d, want %d\n%s%s", got, status, r.stdout.String(), r.stderr.String())
	}
}

// done runs the plugin to its end, and checks the exit status.
func done(t *testing.T, home, kubeconfig string, status int, args ...string) *run {
	t.Helper()
	r := start(t, home, kubeconfig, args...)
	r.ends(status)
	return r
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "set.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// manyConfigMaps returns n ConfigMaps and their namespace.
func manyConfigMaps(namespace string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: many-%d, namespace: %s}\ndata: {a: b}\n", i, namespace)
	}
	return b.String()
}

func uniqueName() string { return "srv-" + strconv.FormatInt(time.Now().UnixNano(), 36) }

// ask runs kubectl and returns its output.
func ask(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	args = append([]string{"--kubeconfig", c.KubeconfigPath}, args...)
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), c.Binary("kubectl"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Edge case 28: the server stops after a part of 300 objects, and comes back. All are applied, none
// is created twice, the outage is reported once, and the audit log has the run's id.
func TestRunOutlivesServer(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{AuditLog: "audit.log"})
	c.OwnOnly(t)
	const n = 300
	p, err := proxy.NewTCP(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	kubeconfig, err := c.Kubeconfig(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	p.SetRTT(100 * time.Millisecond) // so that the run lasts until the server stops
	ns := uniqueName()
	r := start(t, "", kubeconfig, "apply", "-f", write(t, manyConfigMaps(ns, n)), "-o", "stream")
	for strings.Count(r.stdout.String(), `"created"`) < 20 {
		<-r.stdout.written
	}
	if err := c.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.says("the API server does not answer")
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ends(0)
	if message := r.stderr.String(); strings.Count(message, "does not answer") != 1 || strings.Count(message, "is answering again") != 1 {
		t.Errorf("want one report of the outage, and one of its end:\n%s", message)
	}
	if got := strings.Count(ask(t, c, "get", "configmaps", "-n", ns, "-o", "name"), "/many-"); got != n {
		t.Errorf("%d of %d objects are there", got, n)
	}
	id := runOf(t, r.stdout.String())
	events, err := c.AuditEvents()
	if err != nil {
		t.Fatal(err)
	}
	created, ids := map[string]int{}, map[string]bool{}
	for _, e := range events {
		if !strings.HasPrefix(e.UserAgent, "kubectl-k8sconnect") && !strings.HasPrefix(e.AuditID, id) {
			continue
		}
		if !strings.HasPrefix(e.AuditID, id+"-") || ids[e.AuditID] {
			t.Errorf("Audit-ID %s of %s %s, in run %s", e.AuditID, e.Verb, e.RequestURI, id)
		}
		ids[e.AuditID] = true
		if e.ResponseStatus.Code == 201 {
			created[e.RequestURI]++
		}
	}
	for uri, times := range created {
		if times > 1 {
			t.Errorf("created %d times: %s", times, uri)
		}
	}
	if len(ids) < n {
		t.Errorf("%d requests with the run's id, want at least one for each object", len(ids))
	}
}

// runOf reads the run's id from a stream.
func runOf(t *testing.T, stream string) string {
	t.Helper()
	for line := range strings.Lines(stream) {
		var event struct {
			Run string `json:"run"`
		}
		if json.Unmarshal([]byte(line), &event) == nil && event.Run != "" {
			return event.Run
		}
	}
	t.Fatalf("no run id in\n%s", stream)
	return ""
}

// Edge case 28: the plugin waits for a cluster that is not running yet from its first request, and
// reports that at once.
func TestRunWaitsForServer(t *testing.T) {
	c := shared.Cluster(t)
	for name, absent := range map[string]func(*proxy.TCP){"refuses": (*proxy.TCP).Refuse, "hangs up": (*proxy.TCP).HangUp} {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := behind(t, c)
			absent(p)
			r := start(t, "", kubeconfig, "apply", "-f", write(t, manyConfigMaps(uniqueName(), 3)))
			r.says("the API server does not answer")
			if err := p.Restore(); err != nil {
				t.Fatal(err)
			}
			r.ends(0)
			if message := strings.Count(r.stderr.String(), "does not answer"); message != 1 {
				t.Errorf("reported %d times that the server does not answer, want once:\n%s", message, r.stderr.String())
			}
		})
	}
}

func behind(t *testing.T, c *cluster.Cluster) (*proxy.TCP, string) {
	t.Helper()
	p, err := proxy.NewTCP(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	kubeconfig, err := c.Kubeconfig(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	return p, kubeconfig
}

// Edge case 28: an interrupt ends all waits.
func TestRunInterrupted(t *testing.T) {
	c := shared.Cluster(t)
	set := write(t, manyConfigMaps(uniqueName(), 3))
	t.Run("waiting for the server", func(t *testing.T) {
		p, kubeconfig := behind(t, c)
		p.Refuse()
		r := start(t, "", kubeconfig, "apply", "-f", set, "--server-timeout=1h")
		r.says("the API server does not answer")
		interrupt(r)
	})
	t.Run("waiting for a busy server", func(t *testing.T) {
		p, kubeconfig := watched(t, c)
		p.Fail(-1, proxy.Path("", "/api"), proxy.Fault{Status: 429, RetryAfter: time.Hour})
		r := start(t, "", kubeconfig, "apply", "-f", set, "--server-timeout=3h")
		r.says("trying again")
		interrupt(r)
	})
}

func interrupt(r *run) {
	r.t.Helper()
	if err := r.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
	r.ends(2)
}

func watched(t *testing.T, c *cluster.Cluster) (*proxy.HTTP, string) {
	t.Helper()
	p, err := c.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	kubeconfig, err := c.Kubeconfig(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	return p, kubeconfig
}

// Edge case 28: each transient failure of a request, including a request that was carried out and
// whose response was lost.
func TestRunOutlivesFaults(t *testing.T) {
	c := shared.Cluster(t)
	for name, fault := range map[string]proxy.Fault{
		"429":                      {Status: 429, RetryAfter: time.Second},
		"webhook down":             {Status: 500},
		"503":                      {Status: 503},
		"504":                      {Status: 504},
		"reset":                    {},
		"answer lost":              {AnswerLost: true},
		"answer lost by a gateway": {Status: 504, AnswerLost: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := watched(t, c)
			p.Fail(3, proxy.Path("PATCH", "/api/v1/namespaces/"), fault)
			p.Fail(1, proxy.Path("GET", "/api/v1/namespaces/"), fault)
			ns := uniqueName()
			done(t, "", kubeconfig, 0, "apply", "-f", write(t, manyConfigMaps(ns, 20)))
			patched := p.Count("PATCH", "/api/v1/namespaces/"+ns+"/configmaps")
			if patched < 20 || patched > 23 {
				t.Errorf("%d requests for 20 objects, want 20 to 23", patched)
			}
			out := ask(t, c, "get", "configmaps", "-n", ns, "-o", `jsonpath={range .items[*]}{.metadata.name} {range .metadata.managedFields[?(@.manager=="k8sconnect")]}x{end}{"\n"}{end}`)
			if got := strings.Count(out, " x\n"); got != 20 {
				t.Errorf("%d of 20 objects have exactly one entry of k8sconnect:\n%s", got, out)
			}
		})
	}
}

// gadgets defines a kind in its own group.
func gadgets(group string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
}

func gadget(group string) string { return gadgetNamed(group, "one") }

func gadgetNamed(group, name string) string {
	return "---\napiVersion: " + group + "/v1\nkind: Gadget\nmetadata: {name: " + name + ", namespace: default}\n"
}

// Edge case 18: a definition and its object in one run, and again after the definition was removed,
// when the cache on disk still has the kind.
func TestStaleKindInCache(t *testing.T) {
	c, home, group := shared.Cluster(t), t.TempDir(), uniqueName()+".example.com"
	text := gadgets(group) + gadget(group)
	for i := range 10 { // enough for one list
		text += gadgetNamed(group, fmt.Sprint("more-", i))
	}
	set := write(t, text)
	for range 2 {
		done(t, home, c.KubeconfigPath, 0, "apply", "-f", set)
		// Now the cache knows it.
		done(t, home, c.KubeconfigPath, 0, "diff", "-f", set)
		ask(t, c, "delete", "crd", "gadgets."+group)
	}
	// Without its CRD, it is not served, which is reported.
	r := done(t, home, c.KubeconfigPath, 1, "apply", "-f", write(t, gadget(group)))
	if !strings.Contains(r.stdout.String(), "does not serve the kind Gadget") {
		t.Errorf("%s", r.stdout.String())
	}
}

// Edge case 18: a definition that an operator in the set installs, as its account's role shows.
func TestKindFromOperator(t *testing.T) {
	c, group := shared.Cluster(t), uniqueName()+".example.com"
	t.Cleanup(func() { ask(t, c, "delete", "crd", "gadgets."+group, "--wait=false", "--ignore-not-found") })
	ns := uniqueName()
	operator := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + ns + `}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: ` + ns + `}
spec:
  replicas: 1
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {serviceAccountName: operator, containers: [{name: operator, image: operator}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator, namespace: ` + ns + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator, namespace: ` + ns + `}
rules: [{apiGroups: [` + group + `], resources: [gadgets], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operator, namespace: ` + ns + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: operator}
subjects: [{kind: ServiceAccount, name: operator}]
`
	r := start(t, "", c.KubeconfigPath, "apply", "-f", write(t, operator+gadget(group)))
	r.says("Gadget to be served")
	ask(t, c, "get", "deployment", "-n", ns, "operator") // exists before the wait
	ask(t, c, "apply", "-f", write(t, gadgets(group)))   // the operator's work
	r.ends(0)
	ask(t, c, "get", "gadgets."+group, "-n", "default", "one")
}

// Edge case 21: an aggregated API whose server is down affects no other API.
func TestDeadAPI(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{}) // not the shared cluster
	group := uniqueName() + ".example.com"
	ask(t, c, "apply", "-f", write(t, `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.`+group+`}
spec: {group: `+group+`, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true,
  service: {namespace: default, name: nowhere}}
`))
	set := write(t, manyConfigMaps(uniqueName(), 10)+"---\n"+gadgets("alive."+group)+gadget("alive."+group))
	home := t.TempDir()
	done(t, home, c.KubeconfigPath, 0, "apply", "-f", set)
	done(t, home, c.KubeconfigPath, 0, "diff", "-f", set)
	// Only the object of that API fails.
	r := start(t, home, c.KubeconfigPath, "apply", "-f", write(t, gadget(group)), "--server-timeout=2s")
	_ = r.Wait() // The output shows it.
	if r.ProcessState.ExitCode() == 0 || !strings.Contains(r.stdout.String()+r.stderr.String(), group) {
		t.Errorf("status %d\n%s%s", r.ProcessState.ExitCode(), r.stdout.String(), r.stderr.String())
	}
}

// Edge case 20: a webhook that does not respond yet is waited for, with its name in the report.
func TestWebhookNotReadyYet(t *testing.T) {
	c := shared.Cluster(t)
	ns := uniqueName()
	hook := `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ` + ns + `}
webhooks:
- name: hook.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + ns + `}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  clientConfig: {service: {namespace: ` + ns + `, name: hook}}
`
	ask(t, c, "apply", "-f", write(t, hook))
	// A webhook takes effect after a moment.
	ask(t, c, "create", "namespace", ns)
	r := start(t, "", c.KubeconfigPath, "apply", "-f", write(t, manyConfigMaps(ns, 10)))
	r.says("hook.example.com")
	ask(t, c, "delete", "validatingwebhookconfiguration", ns)
	r.ends(0)
}
