package table

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// A cause that several objects share is printed once. Objects that differ in more than their names,
// and the number and the names of their Pods, have their own block.
func TestOneRootIsOneBlock(t *testing.T) {
	waits := func(n int, change func(i int, w *event.Waited)) []event.Waited {
		all := make([]event.Waited, n)
		for i := range all {
			all[i] = event.Waited{
				Ref:        object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "u", Name: fmt.Sprint("d", i)},
				Action:     event.TimedOut,
				Conditions: []event.Condition{{For: "ready", Message: fmt.Sprintf("0 of %d replicas are available", i+1)}},
				Causes: []event.Cause{{
					Code: "Unschedulable", Message: fmt.Sprintf("%d Pods: fits none of 2 nodes", i+2),
					Evidence: []string{"nodeSelector disk=none-such", fmt.Sprintf("Pods: pod/d%d-x -n u", i)},
					Next:     "kubectl get nodes -L disk",
				}},
			}
			if change != nil {
				change(i, &all[i])
			}
		}
		return all
	}
	const same, more = ": for the same reason", "more objects: for the same reason"
	for name, tt := range map[string]struct {
		all                 []event.Waited
		verbose             bool
		blocks, lines, more int
	}{
		"one":                  {all: waits(1, nil), blocks: 1},
		"four":                 {all: waits(4, nil), blocks: 1, lines: 3},
		"twenty":               {all: waits(20, nil), blocks: 1, lines: 3, more: 1},
		"twenty, verbose":      {all: waits(20, nil), verbose: true, blocks: 20},
		"another next step":    {all: waits(3, func(i int, w *event.Waited) { w.Causes[0].Next = fmt.Sprint("kubectl get x", i) }), blocks: 3},
		"another message":      {all: waits(3, func(i int, w *event.Waited) { w.Causes[0].Message = fmt.Sprint("image ", i) }), blocks: 3},
		"another code":         {all: waits(3, func(i int, w *event.Waited) { w.Causes[0].Code = fmt.Sprint("C", i) }), blocks: 3},
		"two roots, alternate": {all: waits(6, func(i int, w *event.Waited) { w.Causes[0].Next = fmt.Sprint("kubectl get x", i%2) }), blocks: 2, lines: 4},
		"another condition":    {all: waits(2, func(i int, w *event.Waited) { w.Conditions[0].For = fmt.Sprint("x", i) }), blocks: 2},
		"a log":                {all: waits(2, func(i int, w *event.Waited) { w.Causes[0].Log = []string{fmt.Sprint("panic ", i)} }), blocks: 2},
		"another action": {all: waits(2, func(i int, w *event.Waited) {
			w.Action = []event.Action{event.TimedOut, event.Failed}[i]
		}), blocks: 2},
		"a cause and more": {all: waits(2, func(i int, w *event.Waited) {
			w.Causes = append(w.Causes, make([]event.Cause, i)...)
		}), blocks: 2},
		"a cause less": {all: waits(3, func(i int, w *event.Waited) {
			if i == 0 {
				w.Causes = append(w.Causes, event.Cause{Code: "ImagePull", Message: "no image"})
			}
		}), blocks: 1, lines: 2},
		"the root is not shared": {all: waits(2, func(i int, w *event.Waited) {
			if i == 0 {
				w.Causes = append([]event.Cause{{Code: "ImagePull", Message: "no image"}}, w.Causes...)
			}
		}), blocks: 2},
		"refused Pods of different workloads": {all: waits(3, func(i int, w *event.Waited) {
			w.Causes[0].Message = fmt.Sprintf("Pods of replicaset.apps/d%d-x -n u are refused: ResourceQuota q is used up", i)
		}), blocks: 1, lines: 2},
		"refused for different reasons": {all: waits(2, func(i int, w *event.Waited) {
			w.Causes[0].Message = fmt.Sprintf("Pods of replicaset.apps/d%d-x -n u are refused: ResourceQuota q%d is used up", i, i)
		}), blocks: 2},
		"each late": {all: waits(3, func(i int, w *event.Waited) {
			w.Causes = append(w.Causes, event.Cause{Code: "ProgressDeadlineExceeded", Message: fmt.Sprintf("deployment.apps/d%d made no progress", i)})
		}), blocks: 1, lines: 2},
		"no cause":     {all: waits(3, func(_ int, w *event.Waited) { w.Causes = nil }), blocks: 3},
		"only a doubt": {all: waits(2, func(_ int, w *event.Waited) { w.Causes[0].Doubt = true }), blocks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			for which, width := range map[string]int{"wait": len(event.TimedOut), "apply": actionWidth} {
				var b strings.Builder
				unmetLines(output.Base{Options: output.Options{Verbose: tt.verbose}, Paint: output.NewPalette(false)}, &b, tt.all, width)
				text := b.String()
				blocks := strings.Count(text, "    not ")
				if blocks != tt.blocks || strings.Count(text, same) != tt.lines || strings.Count(text, more) != tt.more {
					t.Errorf("%s: %d blocks, want %d; text:\n%s", which, blocks, tt.blocks, text)
				}
			}
		})
	}
}
