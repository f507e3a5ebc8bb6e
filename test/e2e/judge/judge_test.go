package judge_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// fight is the namespace of the contested objects.
const fight = "fight"

// objects is the number of contested objects, unless TEST_OBJECTS is set.
func objects() int {
	if n, err := strconv.Atoi(os.Getenv("TEST_OBJECTS")); err == nil {
		return n
	}
	return circle.Of(100, 100, 10_000)
}

// patience bounds waits for events that have to happen, with the limits of the chart's defaults. It
// only ends failing tests.
func patience() time.Duration { return 10*time.Minute + time.Duration(objects())*time.Second }

// court is a cluster with the webhook, with the chart's defaults, and its judge.
type court struct {
	*cluster.Cluster
	webhook *companion.Companion
	config  *rest.Config
	client  dynamic.Interface
	load    *load
	audit   string

	replicas []func() *companion.Replica
	log      log
	// began and ended bound the writes, and dead contains the periods without a replica or an API
	// server.
	began, ended time.Time
	dead         []span
	down         atomic.Bool
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
	if c.webhook, err = companion.Install(t.Context(), c.Cluster, companion.Options{Root: os.Getenv("PREVIOUS"), Log: &c.log}); err != nil {
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

// kill kills a replica, which is restarted.
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

// tracked is the webhook's list of watched kinds.
func (c *court) tracked(t *testing.T) map[string]string {
	t.Helper()
	list, err := c.client.Resource(resource("", "v1", "configmaps")).Namespace(companion.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "k8sconnect.io/tracker=true"})
	if err != nil || len(list.Items) != 1 {
		return nil
	}
	data, _, _ := unstructured.NestedStringMap(list.Items[0].Object, "data")
	return data
}

// most is the number of writes while nothing is killed: at most some 50,000 changes may wait to be
// recorded, and more cause a gap.
const most = 30_000

// TestCalm judges writes while nothing is killed: everything is exact.
func TestCalm(t *testing.T) {
	circle.Full(t)
	c := newCourt(t)
	first := []*companion.Replica{c.replicas[0](), c.replicas[1]()}
	c.load.run(t, c.config, min(5*objects(), most), 1)
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

// TestKilled judges writes while one or both replicas are killed, and etcd hangs: only users are
// lost.
func TestKilled(t *testing.T) {
	circle.Long(t) // a quarter of an hour with the limits of the chart's defaults
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
			time.Sleep(3 * time.Second) // a hanging disk
			resume()
		},
		func() { c.kill(0); c.kill(1) },
	)
	c.judge(t, false)
}

// TestUnanswered judges writes while about half of the webhook's calls get no response: a takeover
// whose values no replica saw is recorded as lost.
func TestUnanswered(t *testing.T) {
	circle.Full(t)
	c := newCourt(t)
	written := make(chan struct{})
	var silencer sync.WaitGroup
	silencer.Go(func() {
		silent := false
		for {
			select {
			case <-written:
				c.webhook.Silence(false)
				return
			case <-time.After(200 * time.Millisecond):
				silent = !silent
				c.webhook.Silence(silent)
			}
		}
	})
	c.load.run(t, c.config, min(5*objects(), most), 4)
	close(written)
	silencer.Wait()
	c.judge(t, false)
}

// TestServerKilled judges writes while the API server is also killed. Changes right before and
// after that are read from etcd's history.
func TestServerKilled(t *testing.T) {
	circle.Long(t) // a quarter of an hour with the limits of the chart's defaults
	c := newCourt(t)
	server := func() {
		c.down.Store(true)
		defer c.down.Store(false)
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

// disturb writes as all users, and calls a function after each number of writes that equals the
// number of objects.
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
	c.began = time.Now()
	watching, stop := context.WithCancel(t.Context())
	disturber.Go(func() {
		for last := time.Now(); watching.Err() == nil; time.Sleep(50 * time.Millisecond) {
			now := time.Now()
			if c.down.Load() || len(c.webhook.Running()) == 0 {
				if n := len(c.dead); n == 0 || c.dead[n-1].To.Before(last) {
					c.dead = append(c.dead, span{From: last})
				}
				c.dead[len(c.dead)-1].To = now
			}
			last = now
		}
	})
	c.load.run(t, c.config, (len(disturbances)+2)*objects(), seed)
	stop()
	disturber.Wait()
	c.ended = time.Now()
}

// ignored returns the number of the API server's calls without a response in time.
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

// judge waits until all statements on the writes match etcd, and reports those that do not.
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
		t.Fatalf("%d takeovers of %d objects, want at least one for each", takeovers, objects())
	}
	v := c.settled(t, calm, lives)
	c.audited(t, v, lives)
	for _, l := range lives {
		for stamp := range l.stamps {
			if r, ok := v.receipts[stamp]; ok && r.err == nil {
				v.warnings(l, stamp, r)
			}
		}
	}
	for i, complaint := range v.found {
		if i == 20 {
			t.Errorf("… and %d more", len(v.found)-i)
			break
		}
		t.Error(complaint)
	}
	share := v.share(lives, c.began, c.ended)
	t.Logf("%d writes, %d takeovers of %d objects in %s; without a replica or a server: %v; gaps: %v; of an object's time, %.1f%% is declared; of %d entries, %d do not name their user (%d although a call was answered), and %d are takeovers recorded as lost; %d calls had no answer",
		c.load.done.Load(), takeovers, len(lives), c.ended.Sub(c.began).Round(time.Second), c.dead, v.gaps, 100*share, v.of, v.of-v.users, v.forgotten, v.unknown, c.ignored(t))
	if c.ended.IsZero() {
		return // goals only apply to kills
	}
	if share > 0.02 {
		t.Errorf("of an object's time, %.1f%% is declared, at most 2%%", 100*share)
	}
	// A killed replica takes with it what it answered since it last stored something. A storm of fewer objects
	// is over in seconds, so that this can be most of it (docs/design/webhook.md).
	const enough = 1000
	if objects() >= enough && (10*(v.of-v.users) > v.of || 20*v.unknown > v.of) {
		t.Errorf("of %d entries, %d do not name their user, and %d are takeovers recorded as lost", v.of, v.of-v.users, v.unknown)
	}
}

// share returns which part of a period is declared as a gap, on average over the objects.
func (v *verdicts) share(lives map[string]life, from, to time.Time) float64 {
	declared := time.Duration(0)
	for _, l := range lives {
		until := from
		for _, g := range v.gaps { // They are sorted by their beginning.
			if g = g.within(span{From: until, To: to, Of: g.Of}); g.concerns(l) && g.length() > 0 {
				declared, until = declared+g.length(), g.To
			}
		}
	}
	return declared.Seconds() / max(1, to.Sub(from).Seconds()*float64(len(lives)))
}

// idleFor is how long all replicas have to be idle before a fault is final.
const idleFor = time.Minute

// settled waits until records and Events have no faults, or no replica has anything left to record.
func (c *court) settled(t *testing.T, calm bool, lives map[string]life) *verdicts {
	t.Helper()
	message := 0
	for started, busy := time.Now(), time.Now(); ; time.Sleep(5 * time.Second) {
		if !c.idle(t) {
			busy = time.Now()
		}
		v := &verdicts{calm: calm, receipts: c.load.receipts, entries: map[string][]entry{}}
		c.hear(t, v, lives)
		if len(v.found) == 0 || time.Since(busy) > idleFor || time.Since(started) > patience() {
			t.Logf("settled after %s", time.Since(started).Round(time.Second))
			return v
		}
		if len(v.found) != message {
			message = len(v.found)
			first, _, _ := strings.Cut(v.found[0], "\n")
			t.Logf("after %s: %d complaints yet, such as: %s", time.Since(started).Round(time.Second), message, first)
		}
	}
}

// idle reports whether no replica has anything left to record.
func (c *court) idle(t *testing.T) bool {
	t.Helper()
	for _, current := range c.replicas {
		if busy, err := current().Busy(t.Context()); err != nil || busy {
			return false
		}
	}
	return true
}

// log collects the replicas' log.
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
