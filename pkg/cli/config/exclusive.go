package config

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
)

// Exclusively returns [predict.Predictor.Exclusive] for a run. all means that the user gave the flag
// --exclusive; otherwise, only the rules of the file count. It returns nil if there are none.
func (s *Settings) Exclusively(all bool) func(plan.Item, managedfields.Owner) bool {
	if !all && len(s.Exclusive) == 0 {
		return nil
	}
	rules := s.Exclusive
	return func(item plan.Item, o managedfields.Owner) bool {
		if !exclusive.Counts(o) || managedfields.IsBookkeeper(o.Manager) {
			return false
		}
		return all || slices.ContainsFunc(rules, func(c predict.Choice) bool {
			return c.Names(item.Ref, item.Kind) && c.Means(o)
		})
	}
}

// exclusive reads rules that select owners, but not paths: the rules of yield make exceptions.
func (s *sections) exclusive(f field, out *Settings) {
	for _, item := range s.list(f.name, f.value) {
		for _, one := range s.fields(resolved(item), "a rule", []string{"kind", "namespace", "name", "manager", "path"}) {
			if one.name == "path" {
				s.fault(one.key, "to make an exception, write a rule for the path under yield", "a rule of exclusive has no path")
				return
			}
		}
	}
	out.Exclusive = append(out.Exclusive, s.rules(f, predict.AnyManager)...)
}
