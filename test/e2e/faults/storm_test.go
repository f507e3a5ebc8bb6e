package faults_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// stormOf is the number of objects taken over at once, unless STORM_OBJECTS is set: more than the
// first burst, but few enough for a test of some minutes.
const stormOf = 1500

// TestStorm takes over many objects at once, in several namespaces, with the chart's defaults and
// two replicas (edge case 99). In the end each takeover is recorded or declared, once and with its
// user. Until then, missing ones are counted with the checkpoint, and takeovers elsewhere do not
// wait for them (edge case 100).
func TestStorm(t *testing.T) {
	circle.Full(t)
	tr := beginWith(t, cluster.Options{}, "--shutdown-delay=0s")
	leader := tr.first(t)
	other := tr.replica(t)
	storm := stormOf
	if text := os.Getenv("STORM_OBJECTS"); text != "" {
		var err error
		if storm, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	const floods = 2
	for n := range floods {
		tr.makeNamespace(t, fmt.Sprint("flood-", n))
	}
	tr.makeNamespace(t, "quiet")
	in := func(n int) string { return fmt.Sprint("flood-", n%floods) }
	tr.side(storm, func(n int) { tr.take(t, in(n), fmt.Sprint("c", n), "first") })
	tr.take(t, "quiet", "c", "first")
	uids := map[types.UID]time.Time{}
	var mu sync.Mutex
	began := time.Now()
	tr.side(storm, func(n int) {
		uid := tr.take(t, in(n), fmt.Sprint("c", n), "second")
		mu.Lock()
		defer mu.Unlock()
		uids[uid] = time.Now()
	})
	t.Logf("%d takeovers in %s", storm, time.Since(began).Round(time.Second))
	behind := tr.behind(t)
	for ; behind == 0; behind = tr.behind(t) { // stored every half minute
		if n, _ := tr.recorded(t, "first"); n >= storm {
			t.Fatal("all takeovers were recorded before any had to wait: the test proves nothing")
		}
		time.Sleep(time.Second)
	}
	quiet := tr.take(t, "quiet", "c", "second")
	for found := false; !found; {
		_, of := tr.recorded(t, "first")
		_, found = of[quiet]
		time.Sleep(100 * time.Millisecond)
	}
	if n, _ := tr.recorded(t, "first"); n >= storm {
		t.Errorf("the takeover in the quiet namespace was recorded after all of the flood")
	}
	for n := 0; n < storm+1; { // end of the storm
		n, _ = tr.recorded(t, "first")
		time.Sleep(time.Second)
		if len(tr.coverage(t).Gaps) > 0 && tr.behind(t) == 0 {
			break
		}
	}
	_, of := tr.recorded(t, "first")
	t.Logf("recorded %d after %s; at the end of the storm, %d changes waited", len(of), time.Since(began).Round(time.Second), behind)
	gaps := tr.coverage(t).Gaps
	for uid, at := range uids {
		declared := false
		for _, g := range gaps {
			declared = declared || !at.Before(g.From.Add(-10*time.Second)) && !at.After(g.To.Add(10*time.Second))
		}
		if _, ok := of[uid]; !ok && !declared {
			t.Errorf("the takeover of %s is neither recorded nor declared (gaps %v)", uid, gaps)
		}
	}
	// On a slow machine, the API server continues without some responses. The leader also writes
	// records before the replica that knows the user does, which then adds it.
	nameless := func() (n int) {
		_, of = tr.recorded(t, "first")
		for uid := range uids {
			if user, ok := of[uid]; ok && user == "" {
				n++
			}
		}
		return n
	}
	for started := time.Now(); ; time.Sleep(time.Second) {
		over := tr.pending(t, leader, other) == 0 || time.Since(started) > patience
		missing, ignored := nameless(), tr.ignored(t)
		if missing <= ignored {
			break
		}
		if over {
			t.Errorf("%d of %d records have no user, and %d reviews had no answer", missing, len(of), ignored)
			break
		}
	}
	// The recorder's own test of a storm shows in virtual time how few they are: a late replica
	// finds its share written. No replica writes a record twice without need.
	written := tr.sum(t, "k8sconnect_records_written_total", leader, other)
	t.Logf("%g writes of %d records", written, len(of))
	if written > 2*float64(len(of)) {
		t.Errorf("%g writes of %d records by two replicas", written, len(of))
	}
}

// pending returns the number of takeovers that the replicas still have to write.
func (tr *trial) pending(t *testing.T, replicas ...*companion.Replica) float64 {
	t.Helper()
	return tr.sum(t, "k8sconnect_records_pending", replicas...)
}

// sum returns the sum of a metric over the replicas.
func (tr *trial) sum(t *testing.T, metric string, replicas ...*companion.Replica) float64 {
	t.Helper()
	sum := 0.0
	for _, r := range replicas {
		n, err := r.Metric(t.Context(), metric)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// ignored returns how often the API server continued without a response from "ownership".
func (tr *trial) ignored(t *testing.T) int {
	t.Helper()
	metrics, err := tr.typed.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	times := 0.0
	for line := range strings.Lines(string(metrics)) {
		if strings.HasPrefix(line, `apiserver_admission_webhook_fail_open_count{name="ownership.k8sconnect.io"`) {
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &times); err != nil {
				t.Fatal(err)
			}
		}
	}
	return int(times)
}

// side runs a function for each n, by several managers in parallel.
func (tr *trial) side(count int, do func(n int)) {
	var all sync.WaitGroup
	for m := range managers {
		all.Go(func() {
			for n := m; n < count; n += managers {
				do(n)
			}
		})
	}
	all.Wait()
}

func (tr *trial) makeNamespace(t *testing.T, name string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	if _, err := tr.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// take sets a ConfigMap's value as a manager, by force.
func (tr *trial) take(t *testing.T, namespace, name, manager string) types.UID {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": namespace},
		"data": map[string]any{"k": manager},
	}}
	got, err := tr.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace).
		Apply(t.Context(), name, o, metav1.ApplyOptions{FieldManager: manager, Force: true})
	if err != nil {
		t.Error(err)
		return ""
	}
	return got.GetUID()
}

// recorded returns the objects with recorded takeovers from a manager, and their users.
func (tr *trial) recorded(t *testing.T, from string) (int, map[types.UID]string) {
	t.Helper()
	records, err := tr.records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of := map[types.UID]string{}
	for _, r := range records {
		for _, e := range r.Entries {
			if e.Path == fought && e.From[0].Manager == from {
				of[r.Object.UID] = e.User
			}
		}
	}
	return len(of), of
}

// behind returns the number of changes that are stored as not yet recorded.
func (tr *trial) behind(t *testing.T) int {
	t.Helper()
	configMap, err := tr.configMap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var noted struct{ Behind struct{ Changes int } }
	if err := json.Unmarshal([]byte(configMap.Data["coverage"]), &noted); err != nil {
		t.Fatal(err)
	}
	return noted.Behind.Changes
}
