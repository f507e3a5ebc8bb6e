package give

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// movesOf returns the fields that changed owners. It leaves out parents, unless only parents
// changed owners.
func movesOf(given []transfer.Given) []event.Move {
	var out []event.Move
	for _, inner := range []bool{false, true} {
		for _, g := range given {
			if g.Inner == inner {
				out = add(out, g)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

func add(out []event.Move, g transfer.Given) []event.Move {
	for i := range out {
		if m := &out[i]; m.From.Equal(g.From) && m.To.Equal(g.To) && m.Shared == g.Shared {
			m.Paths = append(m.Paths, g.Path)
			return out
		}
	}
	return append(out, event.Move{Paths: []fieldpath.Path{g.Path}, From: g.From, To: g.To, Shared: g.Shared})
}

func keptOf(left []transfer.Left) []event.Withheld {
	var out []event.Withheld
next:
	for _, l := range left {
		why := "the receiver's manifest lacks it, so the receiver's next apply would remove it"
		if l.Why == transfer.OtherVersion {
			why = "owned at " + l.Owner.APIVersion + ", an API version other than the receiver's"
		}
		for i := range out {
			if out[i].Owner.Equal(l.Owner) && out[i].Why == why {
				out[i].Paths = append(out[i].Paths, l.Path)
				continue next
			}
		}
		out = append(out, event.Withheld{Paths: []fieldpath.Path{l.Path}, Owner: l.Owner, Why: why, Undeclared: l.Why == transfer.Undeclared})
	}
	return out
}

func remaining(c managedfields.Conflict, entries []managedfields.Entry, to string) []managedfields.Owner {
	var out []managedfields.Owner
	for _, o := range managedfields.HoldersOf(entries, c.Path) {
		if !o.Is(to) {
			out = append(out, o)
		}
	}
	return out
}

// rewritten returns the paths that a webhook or policy changed even though only managed fields were
// sent.
func rewritten(before, after map[string]any) []string {
	var out []string
	var compare func(at fieldpath.Path, before, after any)
	compare = func(at fieldpath.Path, before, after any) {
		a, isMap := before.(map[string]any)
		b, areMaps := after.(map[string]any)
		if !isMap || !areMaps {
			if !fieldpath.Equal(before, after) {
				out = append(out, at.String())
			}
			return
		}
		names := slices.Collect(maps.Keys(a))
		for name := range b {
			if _, both := a[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if below := at.Child(fieldpath.FieldElement(name)); !bookkeeping(below) {
				compare(below, a[name], b[name])
			}
		}
	}
	compare(nil, before, after)
	return out
}

// bookkeeping reports whether the API server changes a path on every write.
func bookkeeping(p fieldpath.Path) bool {
	return slices.ContainsFunc([]string{"managedFields", "resourceVersion", "generation"}, func(name string) bool {
		return p.Equal(fieldpath.Field("metadata", name))
	})
}

func remark(changed []string, stray *fieldpath.Set) string {
	const some = 3
	var message []string
	if changed != nil {
		message = append(message, "an admission webhook or a policy changed "+text.List(changed, some)+" during this write, as it may on every write")
	}
	var ours []string
	if stray != nil {
		fieldpath.Each(stray.Leaves(), func(p fieldpath.Path) { ours = append(ours, p.String()) })
	}
	if ours != nil {
		message = append(message, fmt.Sprintf("the API server set %s during this write and recorded %s as its owner, "+
			"which is harmless: the next update takes over the ownership", text.List(ours, some), managedfields.Giver))
	}
	return strings.Join(message, "\n")
}
