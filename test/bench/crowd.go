package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

const (
	// crowd is how many kinds the server serves besides its own, as operators bring them;
	// with -short, there are few.
	crowd, crowdShort = 1000, 10
	// crowdGroups is how many groups they are in.
	crowdGroups = 40
)

const crowdText = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "crowd%[1]ds.g%[2]d.crowd.bench.example.com"},
	"spec": {
		"group": "g%[2]d.crowd.bench.example.com", "scope": "Namespaced",
		"names": {"plural": "crowd%[1]ds", "singular": "crowd%[1]d", "kind": "Crowd%[1]d", "listKind": "Crowd%[1]dList"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
			"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}, "image": {"type": "string"}}}
		}}}}]
	}
}`

func crowdTitle(kinds int) string {
	return fmt.Sprintf("1 ConfigMap beside %s more kinds", lab.Thousands(kinds))
}

// crowdWorks are the works on one object. stuck is none of them: it lists every kind.
func crowdWorks() []string { return []string{workAgain, workDiff, workWait, workDelete} }

// crowdCells measure one object where the server serves many kinds, and where it does not.
func crowdCells(dir string, o options) ([]cell, error) {
	most := crowd
	if o.short {
		most = crowdShort
	}
	var cells []cell
	for _, kinds := range []int{0, most} {
		s, err := lab.Generated(dir, "ConfigMap", small)
		if err != nil {
			return nil, err
		}
		s.Title = crowdTitle(kinds)
		for _, rtt := range o.rtts {
			cells = append(cells, cell{
				sample: s, kind: "ConfigMap", count: small, rtt: rtt, works: crowdWorks(), repetitions: o.repetitions, crowd: kinds, alone: true,
			})
		}
	}
	return cells, nil
}

// fill makes the server serve that many kinds, and waits until it does.
func fill(ctx context.Context, l *lab.Lab, kinds int) error {
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	definitions := l.Client.Resource(resource)
	var group errgroup.Group
	group.SetLimit(8)
	for i := range kinds {
		group.Go(func() error {
			objects, err := lab.Decode(fmt.Appendf(nil, crowdText, i, i%crowdGroups))
			if err != nil {
				return err
			}
			_, err = definitions.Create(ctx, objects[0], metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	const pause = 500 * time.Millisecond
	for {
		list, err := definitions.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		young := 0
		for i := range list.Items {
			if !lab.IsEstablished(&list.Items[i]) {
				young++
			}
		}
		if young == 0 {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
