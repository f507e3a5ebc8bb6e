package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// These are the works.
const (
	workSame   = "update by the same owner"
	workTake   = "takeover"
	workCreate = "create"
)

// allWorks are in the order in which they are done: recording takeovers continues for a
// while after them.
func allWorks() []string { return []string{workSame, workCreate, workTake} }

func deployments() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

// writer does one work on Deployments of some 20 kB as the API server keeps them.
type writer struct {
	client dynamic.ResourceInterface
	work   string
	setup  string // in the names, so that the setups never meet
	// turn counts the turns, so that each write has a value of its own.
	turn int
	// takeovers counts those of each object, so that the taker is never the owner.
	takeovers []int
}

// prepare makes the objects that a work updates: one for each writer.
func (w *writer) prepare(ctx context.Context, writers int) error {
	w.takeovers = make([]int, writers)
	if w.work == workCreate {
		return nil
	}
	for i := range writers {
		if err := w.apply(ctx, w.name(i), "owner-a", 0); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) name(i int) string {
	return strings.ReplaceAll(w.setup+"-"+w.work, " ", "-") + fmt.Sprintf("-%d", i)
}

// write is the n-th write, of a writer.
func (w *writer) write(ctx context.Context, by, n int) error {
	switch w.work {
	case workCreate:
		return w.apply(ctx, w.name(by)+fmt.Sprintf("-%d-%d", w.turn, n), "owner-a", n)
	case workTake:
		w.takeovers[by]++
		return w.apply(ctx, w.name(by), []string{"owner-a", "owner-b"}[w.takeovers[by]%2], w.turn*1_000_000+n+1)
	default:
		return w.apply(ctx, w.name(by), "owner-a", w.turn*1_000_000+n+1)
	}
}

func (w *writer) apply(ctx context.Context, name, manager string, value int) error {
	_, err := w.client.Apply(ctx, name, deployment(name, value), metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// alone writes one after the other, and returns how long each took, sorted.
func (w *writer) alone(ctx context.Context, n int) ([]time.Duration, error) {
	w.turn++
	took := make([]time.Duration, 0, n)
	for i := range n {
		start := time.Now()
		if err := w.write(ctx, 0, i); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took, nil
}

// together writes with several writers side by side, and returns how many writes
// there were in a second.
func (w *writer) together(ctx context.Context, writers, n int) (float64, error) {
	w.turn++
	errs := make([]error, writers)
	start := time.Now()
	var all sync.WaitGroup
	for by := range writers {
		all.Go(func() {
			for i := 0; i < n/writers && errs[by] == nil; i++ {
				errs[by] = w.write(ctx, by, i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(n/writers*writers) / time.Since(start).Seconds(), nil
}

// deployment is large, as those of real charts are: with managed fields, the API
// server keeps about 20 kB of it. No controller runs, so that nothing becomes of
// it.
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
