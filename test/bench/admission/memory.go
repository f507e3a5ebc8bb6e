package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// memory is how much the tracker needs to remember many objects.
type memory struct {
	objects     int
	start       time.Duration // until it was ready
	peak, after int64         // bytes of the process: at most, and a while after the start
	tracked     float64       // objects, by its own count
}

// remember fills a cluster, starts the webhook and looks at its memory.
func remember(ctx context.Context, o options, r *results) error {
	c, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := fill(ctx, c, o.tracked); err != nil {
		return err
	}
	release, err := companion.Install(ctx, c, companion.Options{Log: o.log})
	if err != nil {
		return err
	}
	defer release.Close()
	began := time.Now()
	replica, err := release.Start(ctx)
	if err != nil {
		return err
	}
	r.memory = memory{objects: o.tracked, start: time.Since(began)}
	if r.memory.tracked, err = settledCount(ctx, replica); err != nil {
		return err
	}
	if r.memory.tracked < float64(o.tracked) {
		r.wrong("the tracker knows %g of %d objects", r.memory.tracked, o.tracked)
	}
	r.memory.after, r.memory.peak, err = replica.Memory()
	return err
}

// settledCount waits until the number of tracked objects stays as it is.
func settledCount(ctx context.Context, replica *companion.Replica) (float64, error) {
	last := -1.0
	for {
		n, err := replica.Metric(ctx, "k8sconnect_tracker_objects")
		if err != nil {
			return 0, err
		}
		if n == last && n > 0 {
			return n, nil
		}
		last = n
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(5 * time.Second):
		}
	}
}

// fill makes objects of some sorts, as a cluster has them: most are alike, with
// two owners each, and a name and labels of their own.
func fill(ctx context.Context, c *cluster.Cluster, n int) error {
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	configMaps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	const makers = 16
	errs := make([]error, makers)
	var all sync.WaitGroup
	for maker := range makers {
		all.Go(func() {
			for i := maker; i < n && errs[maker] == nil; i += makers {
				errs[maker] = fillOne(ctx, configMaps, i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func fillOne(ctx context.Context, client dynamic.ResourceInterface, i int) error {
	const sorts = 200 // shapes of objects, as charts and operators make them
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
