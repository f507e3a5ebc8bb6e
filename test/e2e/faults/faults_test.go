package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

const (
	managers = 8
	objects  = 1000
	// loadFor is how long the writers write, unless FAULTS_FOR says otherwise.
	loadFor = 10 * time.Second
	// settleFor is how long the records may take to say all of it. They take
	// seconds; this is for a machine that is busy.
	settleFor = 3 * time.Minute
	// timeout is the webhooks' own; several are asked side by side.
	timeout = 2 * time.Second
	// patience with a write, beyond the time-out: the API server has work of its
	// own, and stands still while it starts.
	patience = 20 * time.Second
)

// trial is a cluster with the webhook, and those who write.
type trial struct {
	*cluster.Cluster
	*companion.Companion
	client dynamic.Interface
	typed  kubernetes.Interface
	truth  *truth
	log    lockedBuffer
}

// begin installs the webhook. Its limit on writes is lifted: it would only make
// the test long.
func begin(t *testing.T, options cluster.Options, args ...string) *trial {
	t.Helper()
	t.Parallel()
	tr := &trial{Cluster: cluster.ForTest(t, options)}
	config, err := tr.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if tr.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if tr.typed, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	tr.Companion, err = companion.Install(t.Context(), tr.Cluster, companion.Options{
		Args: append([]string{"--records-per-second=1000", "--shutdown-delay=0s"}, args...), Log: &tr.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tr.Close()
		if t.Failed() {
			t.Logf("the webhook said:\n%s", tr.log.tail(60))
		}
	})
	return tr
}

// first starts the first replica and waits until there is a checkpoint: what
// happens before that is nobody's promise.
func (tr *trial) first(t *testing.T) *companion.Replica {
	t.Helper()
	r := tr.replica(t)
	for started := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if c, err := tr.configMap(t.Context()); err == nil && c.Data["checkpoint"] != "" {
			return r
		} else if time.Since(started) > time.Minute {
			t.Fatalf("there is no checkpoint (%v)", err)
		}
	}
}

// replica starts a replica and waits until it is ready.
func (tr *trial) replica(t *testing.T) *companion.Replica {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := tr.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fill makes the objects that are fought over.
func (tr *trial) fill(t *testing.T) {
	t.Helper()
	tr.truth = newTruth(t, tr.client, metav1.NamespaceDefault, objects)
}

// loadTime is how long the writers write.
func loadTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("FAULTS_FOR")
	if text == "" {
		return loadFor
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// load writes for some time while disturb does what it does, until its context
// ends.
func (tr *trial) load(t *testing.T, seed uint64, disturb func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), loadTime(t))
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { disturb(ctx) })
	w := tr.truth.load(ctx, managers, seed)
	both.Wait()
	if len(w.denied) > 0 {
		t.Errorf("%d writes were denied, such as by: %s", len(w.denied), w.denied[0])
	}
	if w.slowest > timeout+patience {
		t.Errorf("a write took %s; a webhook's time-out is %s", w.slowest, timeout)
	}
	t.Logf("%d writes, %d takeovers; the slowest write took %s", w.done, tr.truth.total(), w.slowest)
	if tr.truth.total() < objects {
		t.Errorf("%d takeovers of %d objects prove little", tr.truth.total(), objects)
	}
}

// expect waits until the records say the truth.
func (tr *trial) expect(t *testing.T, gaps bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleFor)
	defer cancel()
	started := time.Now()
	differences := tr.truth.settled(ctx, tr.records, gaps)
	for i, difference := range differences {
		if i == 10 {
			t.Errorf("… and %d more", len(differences)-i)
			break
		}
		t.Error(difference)
	}
	t.Logf("settled after %s", time.Since(started).Round(time.Millisecond))
	for len(tr.coverage(t).Gaps) == 0 && gaps && ctx.Err() == nil {
		time.Sleep(time.Second) // They are stored with the next checkpoint.
	}
	if declared := len(tr.coverage(t).Gaps) > 0; declared != gaps {
		t.Errorf("gaps declared: %t, want %t", declared, gaps)
	}
}

func (tr *trial) records(ctx context.Context) ([]ownership.Record, error) {
	resource := schema.GroupVersionResource{Group: ownership.RecordGroup, Version: ownership.RecordVersion, Resource: ownership.RecordPlural}
	list, err := tr.client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	records := make([]ownership.Record, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &records[i]); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// coverage is what the tracker says of the time it watched.
type coverage struct {
	Since time.Time                        `json:"since"`
	Gaps  []struct{ From, To metav1.Time } `json:"gaps"`
}

func (tr *trial) coverage(t *testing.T) coverage {
	t.Helper()
	configMap, err := tr.configMap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var c coverage
	if err := json.Unmarshal([]byte(configMap.Data["coverage"]), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func (tr *trial) configMap(ctx context.Context) (*corev1.ConfigMap, error) {
	list, err := tr.typed.CoreV1().ConfigMaps(companion.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "k8sconnect.io/tracker=true"})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("the tracker has %d ConfigMaps", len(list.Items))
	}
	return &list.Items[0], nil
}

// every does something again and again until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
			do()
		}
	}
}

// lockedBuffer is written by several processes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) tail(lines int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := bytes.Split(bytes.TrimSpace(l.b.Bytes()), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
