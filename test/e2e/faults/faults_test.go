package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

const (
	managers = 8
	// patience bounds waits for events that have to happen. It only ends failing tests.
	patience = 8 * time.Minute
	// settleFor is the time within which the records have to be complete.
	settleFor = patience
)

// objects is the number of contested objects.
func objects() int { return circle.Of(60, 300, 10_000) }

// trial is a cluster with the webhook, and its writers.
type trial struct {
	*cluster.Cluster
	*companion.Companion
	client dynamic.Interface
	typed  kubernetes.Interface
	truth  *truth
	log    lockedBuffer
}

// begin installs the webhook without its limit on writes, which would make the test long.
func begin(t *testing.T, options cluster.Options, args ...string) *trial {
	t.Helper()
	return beginWith(t, options, append([]string{"--records-per-second=1000", "--shutdown-delay=0s"}, args...)...)
}

// beginWith installs the webhook with the chart's defaults and additional arguments.
func beginWith(t *testing.T, options cluster.Options, args ...string) *trial {
	t.Helper()
	return beginFrom(t, options, companion.Options{Args: args})
}

func beginFrom(t *testing.T, options cluster.Options, webhook companion.Options) *trial {
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
	webhook.Log = &tr.log
	tr.Companion, err = companion.Install(t.Context(), tr.Cluster, webhook)
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

// first starts the first replica and waits for a checkpoint: no promise covers the time before
// that.
func (tr *trial) first(t *testing.T) *companion.Replica {
	t.Helper()
	r := tr.replica(t)
	tr.watches(t)
	return r
}

// watches waits for a checkpoint.
func (tr *trial) watches(t *testing.T) {
	t.Helper()
	for started := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if c, err := tr.configMap(t.Context()); err == nil && c.Data["checkpoint"] != "" {
			return
		} else if time.Since(started) > patience {
			t.Fatalf("there is no checkpoint (%v)", err)
		}
	}
}

// replica starts a replica and waits until it is ready.
func (tr *trial) replica(t *testing.T) *companion.Replica {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := tr.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fill creates the contested objects.
func (tr *trial) fill(t *testing.T) {
	t.Helper()
	tr.truth = newTruth(t, tr.client, metav1.NamespaceDefault, objects())
}

// takeovers waits for more takeovers, a share of the number of objects, and reports whether ctx is
// still active.
func (tr *trial) takeovers(ctx context.Context, share float64) bool {
	for until := tr.truth.total() + int(share*float64(objects())); tr.truth.total() < until; {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}

// load writes while disturb runs, and until there are twice as many takeovers as objects. The
// duration depends on the machine.
func (tr *trial) load(t *testing.T, seed uint64, disturb func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enough := tr.truth.total() + 2*objects()
	var disturber sync.WaitGroup
	disturber.Go(func() {
		defer cancel()
		disturb(ctx)
		for tr.truth.total() < enough && tr.takeovers(ctx, 0.05) {
		}
	})
	w := tr.truth.load(ctx, managers, seed)
	disturber.Wait()
	if len(w.denied) > 0 {
		t.Errorf("%d writes were denied, such as by: %s", len(w.denied), w.denied[0])
	}
	t.Logf("%d writes, %d takeovers; the slowest write took %s", w.done, tr.truth.total(), w.slowest)
}

// gaps selects the expected gaps.
type gaps int

const (
	// noGaps allows only gaps from the API server's watch cache, on machines slower than its
	// memory.
	noGaps gaps = iota
	someGaps
)

// expect waits until the records and the gaps are right.
func (tr *trial) expect(t *testing.T, want gaps) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleFor)
	defer cancel()
	started := time.Now()
	differences := tr.truth.settled(ctx, func(ctx context.Context) (is message, err error) {
		c, err := tr.readCoverage(ctx)
		if err != nil {
			return message{}, err
		}
		is.gaps = len(c.Gaps) > 0
		switch {
		case want == noGaps && slices.ContainsFunc(c.Gaps, needless): // A declared gap is never taken back.
			is.wrong, is.final = fmt.Sprintf("gaps are declared: %v", c.Gaps), true
		case !is.gaps && want == someGaps:
			is.wrong = "no gap is declared"
		}
		is.idle = tr.idle(ctx)
		is.records, err = tr.records(ctx)
		return is, err
	})
	for i, difference := range differences {
		if i == 10 {
			t.Errorf("… and %d more", len(differences)-i)
			break
		}
		t.Error(difference)
	}
	t.Logf("settled after %s, with gaps %v", time.Since(started).Round(time.Millisecond), tr.coverage(t).Gaps)
}

// needless reports whether the API server still knew all changes of a gap: its watch cache keeps
// those of the last 75 seconds (DefaultEventFreshDuration in k8s.io/apiserver).
func needless(gap span) bool { return gap.To.Sub(gap.From.Time) < 60*time.Second }

// idle reports whether no running replica has anything left to record.
func (tr *trial) idle(ctx context.Context) bool {
	running := tr.Running()
	for _, r := range running {
		if busy, err := r.Busy(ctx); err != nil || busy {
			return false
		}
	}
	return len(running) > 0
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

// coverage is the tracker's record of the periods that it watched.
type coverage struct {
	Since time.Time `json:"since"`
	Gaps  []span    `json:"gaps"`
}

type span struct{ From, To metav1.Time }

func (tr *trial) coverage(t *testing.T) coverage {
	t.Helper()
	c, err := tr.readCoverage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (tr *trial) readCoverage(ctx context.Context) (c coverage, err error) {
	configMap, err := tr.configMap(ctx)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal([]byte(configMap.Data["coverage"]), &c)
}

func (tr *trial) configMap(ctx context.Context) (*corev1.ConfigMap, error) {
	list, err := tr.typed.CoreV1().ConfigMaps(companion.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "k8sconnect.io/tracker=true"})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("the tracker has %d ConfigMaps, want 1", len(list.Items))
	}
	return &list.Items[0], nil
}

// lockedBuffer is a buffer for several processes.
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
