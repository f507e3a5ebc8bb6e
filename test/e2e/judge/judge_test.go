package judge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// fight is the namespace that is fought over.
const fight = "fight"

// objects is how many are fought over: ten thousand if TEST_LONG is set.
func objects() int {
	if os.Getenv("TEST_LONG") != "" {
		return 10_000
	}
	return 100
}

// patience is for what has to come some time, at the pace of the chart's defaults. It
// ends only a test that fails.
func patience() time.Duration { return 10*time.Minute + time.Duration(objects())*time.Second }

// court is a cluster with the webhook at the chart's defaults, and its judge.
type court struct {
	*cluster.Cluster
	webhook *companion.Companion
	config  *rest.Config
	client  dynamic.Interface
	load    *load
	audit   string

	replicas []func() *companion.Replica
	log      log
}

func newCourt(t *testing.T) *court {
	t.Helper()
	dir := t.TempDir()
	c := &court{audit: filepath.Join(dir, "audit.log"), load: newLoad(fight, objects())}
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o644); err != nil {
		t.Fatal(err)
	}
	c.Cluster = cluster.ForTest(t, cluster.Options{APIServerArgs: []string{
		"--storage-media-type=application/json", "--etcd-compaction-interval=0",
		"--audit-policy-file=" + policy, "--audit-log-path=" + c.audit,
	}})
	c.OwnOnly(t)
	var err error
	if c.config, err = c.RESTConfig(); err != nil {
		t.Fatal(err)
	}
	c.config.QPS, c.config.WarningHandler = -1, rest.NoWarnings{}
	if c.client, err = dynamic.NewForConfig(c.config); err != nil {
		t.Fatal(err)
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": fight}}}
	if _, err := c.client.Resource(resource("", "v1", "namespaces")).Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if c.webhook, err = companion.Install(t.Context(), c.Cluster, companion.Options{Log: &c.log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.webhook.Close()
		if t.Failed() {
			t.Logf("the webhook said:\n%s", c.log.tail())
		}
	})
	for range 2 {
		replica, err := c.webhook.Keep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.replicas = append(c.replicas, replica)
	}
	c.await(t, "a checkpoint", func() bool { return c.tracked(t)["checkpoint"] != "" })
	return c
}

const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: RequestResponse, namespaces: [` + fight + `], resources: [{group: "", resources: [configmaps]}], verbs: [create, update, patch]}
- {level: None}
`

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// kill kills a replica; it is started again.
func (c *court) kill(n int) { c.replicas[n]().Kill() }

// await waits for a condition.
func (c *court) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for started := time.Now(); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Since(started) > patience() {
			t.Fatalf("never: %s", what)
		}
	}
}

// tracked is what the webhook says of its watch.
func (c *court) tracked(t *testing.T) map[string]string {
	t.Helper()
	list, err := c.client.Resource(resource("", "v1", "configmaps")).Namespace(companion.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "k8sconnect.io/tracker=true"})
	if err != nil || len(list.Items) != 1 {
		return nil
	}
	data, _, _ := unstructured.NestedStringMap(list.Items[0].Object, "data")
	return data
}

// TestCalm judges writes while nothing is killed: all is exact.
func TestCalm(t *testing.T) {
	c := newCourt(t)
	first := []*companion.Replica{c.replicas[0](), c.replicas[1]()}
	c.load.run(t, c.config, 5*objects(), 1)
	calm := true
	for n, r := range first {
		calm = calm && c.replicas[n]() == r
	}
	if ignored := c.ignored(t); ignored > 0 || !calm {
		t.Logf("a busy machine: %d calls had no answer in time, or a replica lost its lease; not all has to be exact", ignored)
		calm = false
	}
	c.judge(t, calm)
}

// TestKilled judges them while the webhook is killed, one replica and both, and etcd
// hangs: nothing is lost but users.
func TestKilled(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" {
		t.Skip("a quarter of an hour, at the pace of the chart's defaults: make test-long")
	}
	c := newCourt(t)
	c.disturb(t, 2,
		func() { c.kill(0) },
		func() { c.kill(1) },
		func() {
			resume, err := c.PauseEtcd()
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(3 * time.Second) // A disk that hangs for so long.
			resume()
		},
		func() { c.kill(0); c.kill(1) },
	)
	c.judge(t, false)
}

// TestServerKilled judges them while the API server is killed as well, of which what
// came just before and after it is a gap.
func TestServerKilled(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" {
		t.Skip("a quarter of an hour, at the pace of the chart's defaults: make test-long")
	}
	c := newCourt(t)
	server := func() {
		if err := c.KillAPIServer(); err != nil {
			t.Error(err)
		}
		if err := c.StartAPIServer(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
	c.disturb(t, 3, server, func() { c.kill(0) }, server, func() { c.kill(0); c.kill(1) })
	c.judge(t, false)
}

// disturb has all users write, and does something each time there were as many more
// writes as there are objects.
func (c *court) disturb(t *testing.T, seed uint64, disturbances ...func()) {
	t.Helper()
	var disturber sync.WaitGroup
	disturber.Go(func() {
		for i, disturb := range disturbances {
			for c.load.done.Load() < int64((i+1)*objects()) && t.Context().Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
			disturb()
		}
	})
	c.load.run(t, c.config, (len(disturbances)+2)*objects(), seed)
	disturber.Wait()
}

// ignored is how many calls the API server made that had no answer in time.
func (c *court) ignored(t *testing.T) (n int) {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_admission_webhook_fail_open_count{") && strings.Contains(line, `name="ownership.k8sconnect.io"`) {
			var ignored int
			_, _ = fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &ignored)
			n += ignored
		}
	}
	return n
}

// judge waits until all that is said of the writes is what etcd says, and complains of
// what is not.
func (c *court) judge(t *testing.T, calm bool) {
	t.Helper()
	lives := map[string]life{}
	takeovers := 0
	for name, versions := range history(t, c.EtcdSocket(), "/registry/configmaps/"+fight+"/") {
		l := lifeOf(t, name, versions)
		lives[name] = l
		for _, change := range l.all() {
			if change.kind == taken {
				takeovers++
			}
		}
	}
	if takeovers < objects() {
		t.Fatalf("%d takeovers of %d objects prove little", takeovers, objects())
	}
	var v *verdicts
	settled := func() bool {
		v = &verdicts{calm: calm, receipts: c.load.receipts}
		c.hear(t, v, lives)
		return len(v.found) == 0
	}
	for started, said := time.Now(), 0; !settled() && time.Since(started) < patience(); time.Sleep(5 * time.Second) {
		if len(v.found) != said {
			said = len(v.found)
			t.Logf("after %s: %d complaints yet, such as: %s", time.Since(started).Round(time.Second), said, v.found[0])
		}
	}
	for i, complaint := range v.found {
		if i == 20 {
			t.Errorf("… and %d more", len(v.found)-i)
			break
		}
		t.Error(complaint)
	}
	t.Logf("%d writes, %d takeovers of %d objects; %d gaps declared; %d of %d entries name their user",
		c.load.done.Load(), takeovers, len(lives), len(v.gaps), v.users, v.of)
}

// hear takes all that is said of the writes.
func (c *court) hear(t *testing.T, v *verdicts, lives map[string]life) {
	t.Helper()
	var coverage struct{ Gaps []span }
	if err := json.Unmarshal([]byte(c.tracked(t)["coverage"]), &coverage); err != nil {
		v.found = append(v.found, "no coverage: "+err.Error())
		return
	}
	v.gaps = coverage.Gaps
	if v.calm && len(v.gaps) > 0 {
		v.found = append(v.found, fmt.Sprintf("gaps are declared: %v", v.gaps))
	}
	c.records(t, v, lives)
	c.events(t, v, lives)
	c.audited(t, v, lives)
	for _, l := range lives {
		for stamp := range l.stamps {
			if r, ok := v.receipts[stamp]; ok && r.err == nil {
				v.warnings(l, stamp, r)
			}
		}
	}
}

func (c *court) records(t *testing.T, v *verdicts, lives map[string]life) {
	t.Helper()
	list, err := c.client.Resource(resource("ownership.k8sconnect.io", "v1alpha1", "ownershiprecords")).Namespace(fight).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		v.found = append(v.found, err.Error())
		return
	}
	records := map[string]record{}
	for _, item := range list.Items {
		text, err := json.Marshal(item.Object)
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if r.Object.UID != lives[r.Object.Name].uid {
			v.found = append(v.found, "a record of an object that is not there: "+r.Object.Name)
		}
		records[r.Object.Name] = r
	}
	for name, l := range lives {
		v.record(l, records[name])
	}
}

func (c *court) events(t *testing.T, v *verdicts, lives map[string]life) {
	t.Helper()
	list, err := c.client.Resource(resource("", "v1", "events")).Namespace(fight).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FieldOwnershipTaken"})
	if err != nil {
		v.found = append(v.found, err.Error())
		return
	}
	told := map[string]bool{}
	for _, item := range list.Items {
		name, _, _ := unstructured.NestedString(item.Object, "involvedObject", "name")
		text, _, _ := unstructured.NestedString(item.Object, "message")
		told[name] = true
		v.event(lives[name], text)
	}
	for name, l := range lives {
		if v.calm && !told[name] && slices.ContainsFunc(l.all(), func(c change) bool { return c.kind == taken }) {
			v.complain(l, "no Event")
		}
	}
}

// audited reads the API server's audit log.
func (c *court) audited(t *testing.T, v *verdicts, lives map[string]life) {
	t.Helper()
	content, err := os.ReadFile(c.audit)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var event struct {
			ObjectRef        struct{ Name string }
			ResponseStatus   struct{ Code int }
			ImpersonatedUser struct{ Username string }
			Annotations      map[string]string
			ResponseObject   struct {
				Metadata struct {
					ResourceVersion string
					Annotations     map[string]string
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			continue // It was being written when the API server was killed.
		}
		if event.ResponseStatus.Code/100 != 2 {
			continue
		}
		l := lives[event.ObjectRef.Name]
		stamp := event.ResponseObject.Metadata.Annotations[stampName]
		if r := c.load.receipts[stamp]; r.user != event.ImpersonatedUser.Username {
			v.complain(l, "the audit log has %s of %s as written by %s", stamp, r.user, event.ImpersonatedUser.Username)
		}
		var entries []audited
		if text := event.Annotations["ownership.k8sconnect.io/taken"]; text != "" {
			if err := json.Unmarshal([]byte(text), &entries); err != nil {
				v.complain(l, "the audit log has %q", text)
			}
		}
		v.audit(l, event.ResponseObject.Metadata.ResourceVersion, entries, len(c.load.receipts[stamp].warnings) > 0)
	}
}

// log is what the replicas say.
type log struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(l.text)), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}
