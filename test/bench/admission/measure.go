package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
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

// alone sends n writes in sequence, and returns their latencies in ms, sorted.
func (w *writer) alone(ctx context.Context, n int) ([]float64, error) {
	var took []float64
	for range n {
		start := time.Now()
		if err := w.write(ctx, 0); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start).Seconds()*1e3)
	}
	slices.Sort(took)
	return took, nil
}

// together sends n writes in parallel, and returns the writes a second.
func (w *writer) together(ctx context.Context, n int) (float64, error) {
	start := time.Now()
	var all errgroup.Group
	for by := range writers {
		all.Go(func() error {
			for range n / writers {
				if err := w.write(ctx, by); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := all.Wait()
	return float64(n) / time.Since(start).Seconds(), err
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

// costs measures the cost of the webhook. The setups run at the same time and take turns, so that
// other load on the machine affects both.
func (r *results) costs(ctx context.Context, o options) error {
	var labs []*lab
	for _, setup := range []string{setupNone, setupOurs} {
		l, err := newLab(ctx, setup, o)
		if err != nil {
			return fmt.Errorf("%s: %w", setup, err)
		}
		defer l.close()
		if err := l.start(ctx); err != nil {
			return err
		}
		labs = append(labs, l)
	}
	ours := labs[1]
	if err := ours.awaitConfigured(ctx); err != nil {
		return err
	}
	for _, work := range []string{workSame, workCreate, workTake} {
		if err := r.measure(ctx, o, labs, work); err != nil {
			return fmt.Errorf("%s: %w", work, err)
		}
	}
	return r.handler(ctx, ours)
}

func (r *results) measure(ctx context.Context, o options, labs []*lab, work string) error {
	all := map[*lab]*writer{}
	before := map[*lab]count{}
	warnings, records, err := labs[1].heard(ctx)
	if err != nil {
		return err
	}
	for _, l := range labs {
		deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		w := &writer{client: l.client.Resource(deployments).Namespace("default"), work: work}
		all[l] = w
		// Create the objects to update, and warm up connections and caches. The first owner takes
		// nothing over.
		if _, err := w.together(ctx, writers); err != nil {
			return err
		}
		if before[l], err = l.count(ctx); err != nil {
			return err
		}
	}
	for round := range o.rounds {
		for i := range labs {
			l := labs[(i+round)%len(labs)]
			if err := r.round(ctx, o, l, all[l]); err != nil {
				return err
			}
		}
	}
	writes := float64(o.rounds * 2 * o.writes)
	for _, l := range labs {
		after, err := l.count(ctx)
		if err != nil {
			return err
		}
		if failed := after.failed - before[l].failed; failed > 0 {
			r.wrong("%s, %s: %g calls failed", work, l.setup, failed)
		}
		want := 0.0 // No owner changes, and no field is deprecated.
		if l.setup == setupOurs && work == workTake {
			want = 1
		}
		one := r.row(l.setup, work)
		one.calls = (after.calls - before[l].calls) / writes
		if want == 0 && one.calls != 0 || one.calls < want {
			r.wrong("%s, %s: %.2f calls a write instead of %g", work, l.setup, one.calls, want)
		}
	}
	moreWarnings, moreRecords, err := labs[1].heard(ctx)
	switch warnings, records := moreWarnings-warnings, moreRecords-records; {
	case work == workTake && warnings < writes:
		r.wrong("%g of %g takeovers were warned of", warnings, writes)
	case work != workTake && (warnings != 0 || records != 0):
		r.wrong("%s: %g warnings and %g records of what was not taken", work, warnings, records)
	}
	return err
}

// heard returns how many takeovers the webhook has warned about and recorded so far.
func (l *lab) heard(ctx context.Context) (warnings, records float64, err error) {
	if warnings, err = l.replica.Metric(ctx, "k8sconnect_warnings_total", `about="takeover"`); err != nil {
		return 0, 0, err
	}
	records, err = l.replica.Metric(ctx, "k8sconnect_records_written_total")
	return warnings, records, err
}

func (r *results) round(ctx context.Context, o options, l *lab, w *writer) error {
	before, err := l.count(ctx)
	if err != nil {
		return err
	}
	took, err := w.alone(ctx, o.writes)
	if err != nil {
		return err
	}
	rate, err := w.together(ctx, o.writes)
	if err != nil {
		return err
	}
	after, err := l.count(ctx)
	if err != nil {
		return err
	}
	one := r.row(l.setup, w.work)
	one.cpu = append(one.cpu, (after.cpu-before.cpu)*1e3/float64(2*o.writes))
	one.p50, one.p99 = append(one.p50, took[len(took)/2]), append(one.p99, took[len(took)*99/100])
	one.perSecond = append(one.perSecond, rate)
	return nil
}

// handler reads the webhook's own measurement of its latency.
func (r *results) handler(ctx context.Context, l *lab) error {
	const metric, webhook = "k8sconnect_admission_duration_seconds", `webhook="ownership"`
	sum, err := l.replica.Metric(ctx, metric+"_sum", webhook)
	if err != nil {
		return err
	}
	n, err := l.replica.Metric(ctx, metric+"_count", webhook)
	if n == 0 {
		r.wrong("our webhook judged no change of owners")
	}
	r.own = append(r.own, fmt.Sprintf("Our webhook took %.2f ms for each of %.0f changes of owners, by its own count.", sum/n*1e3, n))
	return err
}

// remember fills a cluster, starts the webhook, and measures its memory.
func (r *results) remember(ctx context.Context, o options) error {
	l, err := newLab(ctx, setupOurs, o)
	if err != nil {
		return err
	}
	defer l.close()
	configMaps := l.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	var makers errgroup.Group
	makers.SetLimit(2 * writers)
	for i := range o.tracked {
		makers.Go(func() error { return fill(ctx, configMaps, i) })
	}
	if err := makers.Wait(); err != nil {
		return err
	}
	began := time.Now()
	if err := l.start(ctx); err != nil {
		return err
	}
	ready := time.Since(began)
	// Wait until the number of tracked objects is stable.
	tracked := 0.0
	for last := -1.0; tracked == 0 || tracked != last; {
		last = tracked
		time.Sleep(5 * time.Second)
		if tracked, err = l.replica.Metric(ctx, "k8sconnect_tracker_objects"); err != nil {
			return err
		}
	}
	if tracked < float64(o.tracked) {
		r.wrong("the tracker knows %g of %d objects", tracked, o.tracked)
	}
	now, peak, err := l.replica.Memory()
	r.own = append(r.own, fmt.Sprintf("The tracker remembers %.0f objects: %d MB of resident memory, %d MB at most, ready after %s.",
		tracked, now>>20, peak>>20, ready.Round(100*time.Millisecond)))
	return err
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
