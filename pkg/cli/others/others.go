// Package others reports the objects of a run that another tool applies: a Helm release, a Flux
// Kustomization or HelmRelease, or an Argo CD Application. It reads the tools' marks on live objects
// that the run has read anyway.
package others

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Flag is the name of the flag, and Warn and Refuse are its values.
const (
	Flag   = "others"
	Warn   = "warn"
	Refuse = "refuse"
)

// Flags is the flag that decides about objects of other tools.
type Flags struct{ mode string }

// Add adds the flag to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.mode, Flag, Warn, "Objects that Helm, Flux or Argo CD applies: warn about them, or refuse to write them")
	help.Words(cmd, Flag, Warn, Refuse)
}

// Check returns an error for an unknown value.
func (f *Flags) Check() error {
	if f.mode != Warn && f.mode != Refuse {
		return fmt.Errorf("--%s must be %s or %s, not %q", Flag, Warn, Refuse, f.mode)
	}
	return nil
}

// Refuses reports whether such objects are refused.
func (f *Flags) Refuses() bool { return f.mode == Refuse }

// tool describes how a tool reacts to another owner.
type tool struct {
	// managers are its field managers.
	managers []string
	next     string
	// forces means that it overwrites the fields of other owners.
	forces bool
	// give selects its objects for the verb give, with the placeholder NAME.
	give string
	// again is what the tool does with a deleted object.
	again string
}

// overwrites reports whether the tool overwrites a field that it has lost and had owned with this
// operation. Otherwise, its next apply conflicts.
func (t tool) overwrites(operation string) bool { return t.forces || operation != managedfields.Apply }

func tools() map[string]tool {
	helm := tool{
		managers: []string{"helm", "helm-controller"}, next: "upgrade", give: "--helm-release=NAME",
		again: "its next upgrade creates them again",
	}
	flux := helm
	flux.give, flux.forces = "--inventory-of=helmrelease/NAME", true // helm-controller forces conflicts.
	return map[string]tool{
		"Helm release":     helm,
		"Flux HelmRelease": flux,
		"Flux Kustomization": {
			managers: []string{"kustomize-controller"}, next: "run", forces: true, give: "--inventory-of=kustomization/NAME",
			again: "its next run creates them again",
		},
		"Argo CD Application": {
			managers: []string{"argocd-controller"}, next: "sync", forces: true, give: "--inventory-of=application/NAME",
			again: "its next sync creates them again",
		},
	}
}

// ClaimsOf returns the claims of other tools on a live object. A Flux HelmRelease and its Helm
// release are one claim.
func ClaimsOf(live *unstructured.Unstructured) []applyset.Claim {
	all := applyset.Claims(live, live.GetLabels()[applyset.PartOfLabel])
	flux := slices.ContainsFunc(all, func(c applyset.Claim) bool { return c.Of == "Flux HelmRelease" })
	return slices.DeleteFunc(all, func(c applyset.Claim) bool { return flux && c.Of == "Helm release" })
}

// Refusal returns an error for an object that another tool applies; nil for other objects. The user acts
// as the managers, or takes the object over from them.
func Refusal(live *unstructured.Unstructured, managers ...string) error {
	for _, c := range ClaimsOf(live) {
		if slices.ContainsFunc(managers, func(m string) bool { return slices.Contains(tools()[c.Of].managers, m) }) {
			return nil
		}
	}
	for _, c := range ClaimsOf(live) {
		return Refused(c)
	}
	return nil
}

// Refused returns the error for an object with this claim.
func Refused(c applyset.Claim) error {
	return object.Hinted("to write it nevertheless, use --"+Flag+"="+Warn, "it belongs to %s (%s), and --%s=%s applies", c, c.Mark, Flag, Refuse)
}

// Collector collects the objects that a run writes although another tool applies them.
type Collector struct {
	// Manager is the field manager of the run.
	Manager string
	// Absent reports whether an owner does not exist any more; see [Absent]. It may be nil.
	Absent func(applyset.Claim) bool

	mu  sync.Mutex
	all map[applyset.Claim]*claimed
}

type claimed struct {
	refs []object.Ref
	// conflicts counts the fields at which the tool's next apply conflicts, and overwrites those that
	// it overwrites.
	conflicts, overwrites int
}

// Predicted records an existing object that the run would write. Calls may be concurrent.
func (c *Collector) Predicted(p *predict.Prediction) {
	if p.Live == nil {
		return
	}
	for _, claim := range ClaimsOf(p.Live) {
		of := tools()[claim.Of]
		if slices.Contains(of.managers, c.Manager) || slices.ContainsFunc(p.Adoption.Adopted, func(o managedfields.Owner) bool {
			return slices.Contains(of.managers, o.Manager)
		}) {
			continue // The run acts as the tool, or takes the object over from it.
		}
		conflicts, overwrites := 0, 0
		for _, taken := range slices.Concat(p.Taken, p.Overwritten) {
			i := slices.IndexFunc(taken.Owners, func(o managedfields.Owner) bool { return slices.Contains(of.managers, o.Manager) })
			switch {
			case i < 0:
			case of.overwrites(taken.Owners[i].Operation):
				overwrites++
			default:
				conflicts++
			}
		}
		c.add(claim, object.RefOf(p.Live), conflicts, overwrites)
	}
}

// add records an object of a claim, with the fields that the tool loses to the run.
func (c *Collector) add(claim applyset.Claim, ref object.Ref, conflicts, overwrites int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[applyset.Claim]*claimed{}
	}
	claim.Mark = ""
	if c.all[claim] == nil {
		c.all[claim] = &claimed{}
	}
	one := c.all[claim]
	one.refs = append(one.refs, ref)
	one.conflicts += conflicts
	one.overwrites += overwrites
}

// Deleted records an object that the run would delete. Calls may be concurrent.
func (c *Collector) Deleted(ref object.Ref, live *unstructured.Unstructured) {
	for _, claim := range ClaimsOf(live) {
		c.add(claim, ref, 0, 0)
	}
}

// Given records the fields that a transfer takes from a tool. Calls may be concurrent.
func (c *Collector) Given(live *unstructured.Unstructured, moves []event.Move) {
	for _, claim := range ClaimsOf(live) {
		of := tools()[claim.Of]
		conflicts := 0
		for _, m := range moves {
			if slices.Contains(of.managers, m.From.Manager) && !m.Shared && !slices.Contains(of.managers, m.To.Manager) {
				conflicts += len(m.Paths)
			}
		}
		if conflicts > 0 {
			c.add(claim, object.RefOf(live), conflicts, 0)
		}
	}
}

// Moved records an object that a move takes from one tool to another. A third tool than these keeps its
// marks on the object. Calls may be concurrent.
func (c *Collector) Moved(live *unstructured.Unstructured, third []applyset.Claim) {
	for _, claim := range third {
		c.add(claim, object.RefOf(live), 0, 0)
	}
}

// Without returns the claims that are not one of these owners'.
func Without(claims []applyset.Claim, owners ...applyset.Claim) []applyset.Claim {
	return slices.DeleteFunc(claims, func(c applyset.Claim) bool {
		return slices.ContainsFunc(owners, func(o applyset.Claim) bool { return o.Of == c.Of && isName(c.Name, o.Name) })
	})
}

// isName reports whether a mark names NAMESPACE/NAME. Argo CD omits its own namespace.
func isName(mark, name string) bool {
	_, short, _ := strings.Cut(name, "/")
	return mark == name || mark == short
}

// Warn warns once about each tool, and forgets the objects.
func (c *Collector) Warn(emit func(event.Event)) { c.warn(emit, c.written) }

// WarnDeleted is [Collector.Warn] for deletions.
func (c *Collector) WarnDeleted(emit func(event.Event)) {
	c.warn(emit, func(claim applyset.Claim, one *claimed) string {
		again := tools()[claim.Of].again
		if len(one.refs) == 1 {
			again = strings.Replace(again, "them", "it", 1)
		}
		return again
	})
}

// WarnMoved is [Collector.Warn] for moves.
func (c *Collector) WarnMoved(emit func(event.Event)) {
	c.warn(emit, func(claim applyset.Claim, one *claimed) string {
		them := "them"
		if len(one.refs) == 1 {
			them = "it"
		}
		return "the move leaves its marks, and its next " + tools()[claim.Of].next + " still applies " + them
	})
}

func (c *Collector) warn(emit func(event.Event), effect func(applyset.Claim, *claimed) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, claim := range slices.SortedFunc(maps.Keys(c.all), func(a, b applyset.Claim) int {
		return cmp.Or(strings.Compare(a.Of, b.Of), text.CompareNames(a.Name, b.Name))
	}) {
		one := c.all[claim]
		slices.SortFunc(one.refs, object.Ref.Compare)
		const shown = 3
		names := make([]string, len(one.refs))
		for i, ref := range one.refs {
			names[i] = ref.String()
		}
		if c.Absent != nil && c.Absent(claim) {
			emit(event.Warned{Text: marked(claim, names)})
			continue
		}
		message := fmt.Sprintf("%d objects belong to %s (%s): %s", len(names), claim, text.List(names, shown), effect(claim, one))
		if len(names) == 1 {
			message = fmt.Sprintf("%s belongs to %s: %s", names[0], claim, effect(claim, one))
		}
		emit(event.Warned{Text: message})
	}
	c.all = nil
}

func (c *Collector) written(claim applyset.Claim, one *claimed) string {
	of := tools()[claim.Of]
	next := "its next " + of.next
	var message string
	switch {
	case one.conflicts > 0:
		message = next + " will conflict in " + text.Count(one.conflicts, "field")
	case one.overwrites > 0:
		message = next + " will overwrite " + text.Count(one.overwrites, "field")
	case of.forces:
		return next + " will overwrite what this run changes in its fields"
	default:
		return next + " will conflict if it changes a field that this run applies"
	}
	if !strings.Contains(claim.Name, "/") || c.Manager == "" {
		return message
	}
	return message + "; to hand the fields over: " + command.Kubectl("k8sconnect", "give") + " " +
		text.ShellQuote(strings.Replace(of.give, "NAME", claim.Name, 1)) + " --from=" + text.ShellQuote(c.Manager)
}

// Admit returns the function that refuses an existing object which another tool applies, or nil if
// such objects are not refused.
func (f *Flags) Admit(p predict.Predictor) func(plan.Item, *unstructured.Unstructured) error {
	if !f.Refuses() {
		return nil
	}
	managers := slices.Concat([]string{p.Manager}, p.AdoptFrom.Once, p.AdoptFrom.Always)
	return func(_ plan.Item, live *unstructured.Unstructured) error { return Refusal(live, managers...) }
}
