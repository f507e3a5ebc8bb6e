// Package admission measures what the webhook costs writers: writes a second and the time of a
// write, without a webhook and with ours, in one interleaved run on one machine, and the memory of
// the tracker over many objects.
//
// The webhook is configured as the chart configures it, and runs as the program that the chart
// runs. The tables go to stdout as Markdown. Wrong results (a refused write, a call where there
// must be none, a takeover that was not reported) fail the test; slow ones never do.
package admission

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

var (
	rounds  = flag.Int("rounds", 0, "`times` that each row is measured; 0 skips everything")
	writes  = flag.Int("writes", 1000, "`number` of writes in a round: first sequential, then as many in parallel")
	tracked = flag.Int("tracked", 100_000, "`number` of objects for the tracker's memory")
)

// The works, in the order in which they are done. Takeovers are last, because recording them
// continues for a while.
const (
	workSame   = "update by the same owner"
	workCreate = "create"
	workTake   = "takeover"
)

// writers is the number of parallel writers.
const writers = 8

// lab is a control plane with or without the webhook. Each has its own, because an API server takes
// a while to forget a webhook.
type lab struct {
	client  dynamic.Interface
	typed   kubernetes.Interface
	release *companion.Companion // nil without the webhook
	replica *companion.Replica
}

func newLab(t *testing.T, webhook bool) *lab {
	t.Helper()
	if *rounds == 0 {
		t.Skip("run by make bench-webhook")
	}
	c := cluster.ForTest(t, cluster.Options{})
	c.OwnOnly(t)
	config, err := c.RESTConfig()
	check(t, err)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	l := &lab{}
	l.client, err = dynamic.NewForConfig(config)
	check(t, err)
	l.typed, err = kubernetes.NewForConfig(config)
	check(t, err)
	if webhook {
		var message bytes.Buffer
		l.release, err = companion.Install(t.Context(), c, companion.Options{Log: &message})
		check(t, err)
		t.Cleanup(func() {
			l.release.Close()
			if t.Failed() {
				t.Logf("log of the webhook:\n%s", &message)
			}
		})
	}
	return l
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts the webhook.
func (l *lab) start(t *testing.T) {
	t.Helper()
	var err error
	l.replica, err = l.release.Start(t.Context())
	check(t, err)
}

func (l *lab) String() string {
	if l.release == nil {
		return "no webhook"
	}
	return "k8sconnect"
}

// count contains the counters of the API server and the webhook so far.
type count struct {
	calls, failed, cpu float64 // calls of the webhook except its self-test; the API server's seconds of CPU time
	warnings, records  float64 // of takeovers
}

func (l *lab) count(t *testing.T) count {
	t.Helper()
	text, err := l.typed.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	check(t, err)
	sum := func(metric string, labels ...string) float64 {
		n, err := companion.Sum(string(text), metric, labels...)
		check(t, err)
		return n
	}
	// By the rule "reach", the webhook tests its own reachability.
	calls := func(metric string) float64 { return sum(metric) - sum(metric, `name="reach.k8sconnect.io"`) }
	c := count{
		calls:  calls("apiserver_admission_webhook_admission_duration_seconds_count"),
		failed: calls("apiserver_admission_webhook_fail_open_count") + calls("apiserver_admission_webhook_rejection_count"),
		cpu:    sum("process_cpu_seconds_total"),
	}
	if l.release != nil {
		c.warnings = l.metric(t, "k8sconnect_warnings_total", `about="takeover"`)
		c.records = l.metric(t, "k8sconnect_records_written_total")
	}
	return c
}

func (l *lab) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	n, err := l.replica.Metric(t.Context(), name, labels...)
	check(t, err)
	return n
}

// awaitConfigured waits until the API server calls the webhook for a Service with a deprecated
// field: it notices a new configuration after a moment.
func (l *lab) awaitConfigured(t *testing.T) {
	t.Helper()
	services := l.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace("default")
	n := 0
	called := cluster.Until(time.Minute, func() bool {
		n++
		before := l.count(t)
		service := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": fmt.Sprintf("await-%d", n)},
			"spec": map[string]any{
				"type": "LoadBalancer", "loadBalancerIP": "192.0.2.7", "allocateLoadBalancerNodePorts": false,
				"ports": []any{map[string]any{"port": int64(80)}},
			},
		}}
		_, err := services.Create(t.Context(), service, metav1.CreateOptions{})
		check(t, err)
		after := l.count(t)
		return after.calls > before.calls && after.failed == before.failed
	})
	if !called {
		t.Fatal("the webhook is not called")
	}
}

// writer does one work on Deployments that take some 20 kB in the API server.
type writer struct {
	client dynamic.ResourceInterface
	work   string
	values [writers]int // of the last writes, so that each write sets another value
}

// write sends the next write of a writer.
func (w *writer) write(ctx context.Context, by int) error {
	w.values[by]++
	value, owner := w.values[by], "owner-a"
	object := fmt.Sprintf("%s-%d", strings.ReplaceAll(w.work, " ", "-"), by)
	switch w.work {
	case workCreate:
		object += fmt.Sprintf("-%d", value)
	case workTake:
		owner = []string{"owner-a", "owner-b"}[value%2]
	}
	_, err := w.client.Apply(ctx, object, deployment(object, value), metav1.ApplyOptions{FieldManager: owner, Force: true})
	return err
}

// alone sends the writes of a round in sequence, and returns their latencies in ms, sorted.
func (w *writer) alone(t *testing.T) []float64 {
	t.Helper()
	var took []float64
	for range *writes {
		start := time.Now()
		check(t, w.write(t.Context(), 0))
		took = append(took, time.Since(start).Seconds()*1e3)
	}
	slices.Sort(took)
	return took
}

// together sends n writes in parallel, and returns the writes a second.
func (w *writer) together(t *testing.T, n int) float64 {
	t.Helper()
	start := time.Now()
	var all errgroup.Group
	for by := range writers {
		all.Go(func() error {
			for range n / writers {
				if err := w.write(t.Context(), by); err != nil {
					return err
				}
			}
			return nil
		})
	}
	check(t, all.Wait())
	return float64(n) / time.Since(start).Seconds()
}

// deployment returns a Deployment as large as those in real charts. No controller acts on it.
func deployment(name string, value int) *unstructured.Unstructured {
	var env []any
	for i := range 80 {
		env = append(env, map[string]any{
			"name":  fmt.Sprintf("SETTING_OF_THE_APPLICATION_%02d", i),
			"value": strings.Repeat("some text, ", 6),
		})
	}
	labels := map[string]any{"app": name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"example.com/value": fmt.Sprint(value)}},
		"spec": map[string]any{
			"replicas": int64(value%9 + 1),
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "example.com/app:1", "env": env}}},
			},
		},
	}}
}

// The setups run at the same time and take turns, so that other load on the machine affects both.
func TestCost(t *testing.T) {
	labs := []*lab{newLab(t, false), newLab(t, true)}
	labs[1].start(t)
	labs[1].awaitConfigured(t)
	fmt.Printf("Measured on %s, %d CPUs that the API servers, the webhook and the writers share.\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU())
	fmt.Println("| write of a 20 kB Deployment | setup | writes/s | of no webhook | p50 ms | p99 ms | of no webhook | CPU ms of the API server | of no webhook | bound | calls a write |")
	fmt.Println("| --- | --- | --: | --: | --: | --: | --: | --: | --: | --- | --: |")
	for _, work := range []string{workSame, workCreate, workTake} {
		measure(t, labs, work)
	}
	const metric, webhook = "k8sconnect_admission_duration_seconds", `webhook="ownership"`
	sum, n := labs[1].metric(t, metric+"_sum", webhook), labs[1].metric(t, metric+"_count", webhook)
	if n == 0 {
		t.Error("the webhook evaluated no change of owners, want some")
	}
	fmt.Printf("\nOur webhook took %.2f ms for each of %.0f changes of owners, by its own count.\n\n", sum/n*1e3, n)
}

// measure measures a work in all labs, and prints a row for each.
func measure(t *testing.T, labs []*lab, work string) {
	t.Helper()
	type quantities struct{ perSecond, p50, p99, cpu []float64 } // one value a round; ms, CPU time for a write
	all, before, rows := map[*lab]*writer{}, map[*lab]count{}, map[*lab]*quantities{}
	for _, l := range labs {
		deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		all[l], rows[l] = &writer{client: l.client.Resource(deployments).Namespace("default"), work: work}, &quantities{}
		// Create the objects to update, and warm up connections and caches. The first owner takes
		// nothing over.
		all[l].together(t, writers)
		before[l] = l.count(t)
	}
	for round := range *rounds {
		for i := range labs {
			l := labs[(i+round)%len(labs)]
			before, one := l.count(t), rows[l]
			took := all[l].alone(t)
			one.perSecond = append(one.perSecond, all[l].together(t, *writes))
			one.cpu = append(one.cpu, (l.count(t).cpu-before.cpu)*1e3/float64(2**writes))
			one.p50, one.p99 = append(one.p50, took[len(took)/2]), append(one.p99, took[len(took)*99/100])
		}
	}
	none, sent := rows[labs[0]], float64(*rounds*2**writes)
	for _, l := range labs {
		after, before, one := l.count(t), before[l], rows[l]
		calls, want, bound := (after.calls-before.calls)/sent, 0.0, "" // No owner changes, and no field is deprecated.
		switch {
		case l.release != nil && work == workTake:
			want = 1
		case l.release != nil:
			// The webhook is not called for this write. CPU time is bounded, because other programs
			// on the machine do not affect it.
			bound = "1.05 of the CPU time"
		}
		fmt.Printf("| %s | %s | %.0f | %.2f | %.1f | %.1f | %.2f | %.2f | %.2f | %s | %.2f |\n", work, l,
			median(one.perSecond), median(one.perSecond)/median(none.perSecond), median(one.p50), median(one.p99), median(one.p99)/median(none.p99),
			median(one.cpu), median(one.cpu)/median(none.cpu), bound, calls)
		if failed := after.failed - before.failed; failed > 0 {
			t.Errorf("%s, %s: %g calls failed", work, l, failed)
		}
		if want == 0 && calls != 0 || calls < want {
			t.Errorf("%s, %s: %.2f calls a write instead of %g", work, l, calls, want)
		}
		switch warnings, records := after.warnings-before.warnings, after.records-before.records; {
		case want > 0 && warnings < sent:
			t.Errorf("got warnings for %g of %g takeovers, want all", warnings, sent)
		case want == 0 && (warnings != 0 || records != 0):
			t.Errorf("%s: got %g warnings and %g records for writes that take nothing, want none", work, warnings, records)
		}
	}
}

func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// The webhook starts on a cluster with many objects.
func TestMemory(t *testing.T) {
	l := newLab(t, true)
	configMaps := l.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	var makers errgroup.Group
	makers.SetLimit(2 * writers)
	for i := range *tracked {
		makers.Go(func() error { return fill(t.Context(), configMaps, i) })
	}
	check(t, makers.Wait())
	began := time.Now()
	l.start(t)
	ready := time.Since(began)
	// Wait until the number of tracked objects is stable.
	known := 0.0
	for last := -1.0; known == 0 || known != last; {
		last = known
		time.Sleep(5 * time.Second)
		known = l.metric(t, "k8sconnect_tracker_objects")
	}
	if known < float64(*tracked) {
		t.Errorf("the tracker knows %g of %d objects", known, *tracked)
	}
	now, peak, err := l.replica.Memory()
	check(t, err)
	fmt.Printf("The tracker remembers %.0f objects: %d MB of resident memory, %d MB at most, ready after %s.\n",
		known, now>>20, peak>>20, ready.Round(100*time.Millisecond))
}

// fill creates one of many objects as in a real cluster: most are alike and have two owners each,
// with their own names and labels.
func fill(ctx context.Context, client dynamic.ResourceInterface, i int) error {
	const sorts = 200 // different shapes of objects, as from charts and operators
	data := map[string]any{}
	for key := range 10 {
		data[fmt.Sprintf("setting-%d-%d", i%sorts, key)] = "value"
	}
	for owner, part := range map[string]map[string]any{"helm": {"data": data}, "flux": {}} {
		object := &unstructured.Unstructured{Object: part}
		object.SetAPIVersion("v1")
		object.SetKind("ConfigMap")
		object.SetName(fmt.Sprintf("config-%06d", i))
		if owner == "flux" {
			object.SetLabels(map[string]string{fmt.Sprint("example.com/sort-", i%sorts): "true"})
		}
		if _, err := client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: owner, Force: true}); err != nil {
			return err
		}
	}
	return nil
}
