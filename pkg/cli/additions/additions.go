// Package additions reports the fields that people and their tools have added to the objects of a run.
// It examines live objects that the run has read anyway.
package additions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Code identifies the remark in JSON.
const Code = "AddedByOthers"

// unknown is the name of managers that the API server has not recorded. It records none for an object of
// which no field has an owner.
const unknown = ""

// Collector counts the additions of a run by manager.
type Collector struct {
	Predictor predict.Predictor

	mu sync.Mutex
	by map[string]map[object.Key]int
}

// See examines an object as it is, or as it will be after the run. adopted reports whether the run takes
// over an owner's fields, although the object still shows them. Calls may be concurrent. See reports no
// errors: the run itself reports managed fields that it cannot read.
func (c *Collector) See(item plan.Item, live *unstructured.Unstructured, adopted func(managedfields.Owner) bool) {
	if live == nil {
		return
	}
	found, err := c.Predictor.Additions(item, live, func(o managedfields.Owner) bool {
		return (o.Manager == unknown || exclusive.IsClient(o.Manager)) && !adopted(o) && (c.Predictor.Exclusive == nil || !c.Predictor.Exclusive(item, o))
	})
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range found {
		if len(a.Owners) == 0 {
			c.count(unknown, item.Key())
		}
		counted := map[string]bool{}
		for _, o := range a.Owners {
			manager := o.Manager
			if manager == managedfields.BeforeFirstApply {
				manager = unknown
			}
			if !counted[manager] {
				counted[manager] = true
				c.count(manager, item.Key())
			}
		}
	}
}

func (c *Collector) count(manager string, key object.Key) {
	if c.by == nil {
		c.by = map[string]map[object.Key]int{}
	}
	if c.by[manager] == nil {
		c.by[manager] = map[object.Key]int{}
	}
	c.by[manager][key]++
}

// Report emits one remark that names the managers, and forgets the objects.
func (c *Collector) Report(emit func(event.Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.by) == 0 {
		return
	}
	managers := slices.Sorted(maps.Keys(c.by))
	names := make([]string, len(managers))
	for i, manager := range managers {
		fields := 0
		for _, n := range c.by[manager] {
			fields += n
		}
		names[i] = fmt.Sprintf("%s (%s, %s)", cmp.Or(text.Printable(manager), format.UnknownManagers), text.Count(len(c.by[manager]), "object"), text.Count(fields, "field"))
	}
	verb := "has"
	if len(names) > 1 || managers[0] == unknown {
		verb = "have"
	}
	const shown = 5
	emit(event.Remarked{Code: Code, Text: fmt.Sprintf(
		"%s %s added fields that the input lacks; diff --exclusive shows them", text.List(names, shown), verb)})
	c.by = nil
}
