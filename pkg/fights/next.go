package fights

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// give returns commands, each of which settles the fight between two known owners.
func (w *watched) give(paths []event.FoughtPath) []string {
	writers := paths[0].Writers
	var names []string
	for _, p := range paths {
		if slices.Contains(p.Writers, nil) || len(p.Writers) != 2 || isStatus(p.Path) || !slices.EqualFunc(p.Writers, writers, func(a, b *managedfields.Owner) bool { return nameOf(a) == nameOf(b) }) {
			return nil
		}
		names = append(names, text.ShellQuote(p.Path.String()))
	}
	if writers[0].Manager == writers[1].Manager {
		return nil
	}
	var next []string
	for _, to := range receivers(writers, paths) {
		words := []string{command.Kubectl("k8sconnect", "give"), text.ShellQuote(w.ref.Resource())}
		if w.ref.Namespace != "" {
			words = append(words, "-n", text.ShellQuote(w.ref.Namespace))
		}
		words = append(append(words, names...), text.ShellQuote("--to="+to.Manager))
		if w.leaves(*to) {
			words = append(words, "--as-operation="+strings.ToLower(to.Operation))
		}
		next = append(next, strings.Join(words, " "))
	}
	return next
}

// receivers returns the owners that should get the paths. For replicas, this is an autoscaler.
// Otherwise a tool takes precedence over a person, and a controller over a client that applies a
// file. If no rule decides, receivers returns both.
func receivers(two []*managedfields.Owner, paths []event.FoughtPath) []*managedfields.Owner {
	rank := func(o *managedfields.Owner) int {
		scales := slices.ContainsFunc(paths, func(p event.FoughtPath) bool { return p.Path.String() == ".spec.replicas" })
		switch {
		case scales && isAutoscaler(o):
			return 3
		case managedfields.IsPerson(o.Manager) || o.Manager == managedfields.ClientSideApply:
			return 0
		case o.Operation == managedfields.Update:
			return 2
		}
		return 1
	}
	switch a, b := rank(two[0]), rank(two[1]); {
	case a > b:
		return two[:1]
	case a < b:
		return two[1:]
	}
	return two
}

func isAutoscaler(o *managedfields.Owner) bool {
	name := strings.ToLower(o.Manager)
	return o.Subresource == "scale" || slices.ContainsFunc([]string{"autoscal", "keda"}, func(part string) bool { return strings.Contains(name, part) })
}

// leaves reports whether an owner had no fields left after one of the writes. The verb give then
// cannot tell how the owner writes, and needs --as-operation.
func (w *watched) leaves(o managedfields.Owner) bool {
	return slices.ContainsFunc(w.log, func(one write) bool {
		return slices.ContainsFunc(one.moves, func(m move) bool { return m.leaves && m.from == handOf(o) })
	})
}
