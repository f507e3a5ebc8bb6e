package adopt

import (
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// An unfinished takeover is marked by paths in the manager's own Apply entry, one for each
// manager that it took over from. No object has a field of such a name, so the API server
// ignores them, and drops them with the next apply, which does not state them.
const (
	adopting  = "k8sconnect.io/adopting/"
	migrating = "k8sconnect.io/migrating/" // once, without being told
)

// marks are names of managers, and whether taking over from them is a migration.
type marks map[string]bool

// marksIn reads the marks in a set, which may be nil.
func marksIn(set *fieldpath.Set) marks {
	out := marks{}
	if set == nil {
		return out
	}
	set.Members.Iterate(func(pe fieldpath.Element) {
		if pe.FieldName == nil {
			return
		}
		if name, ok := strings.CutPrefix(*pe.FieldName, adopting); ok {
			out.add(name, false)
		}
		if name, ok := strings.CutPrefix(*pe.FieldName, migrating); ok {
			out.add(name, true)
		}
	})
	return out
}

// add notes a manager. A migration under way stays one: the user names a manager for one
// run only.
func (m marks) add(manager string, migrates bool) { m[manager] = m[manager] || migrates }

func (m marks) names() []string { return slices.Sorted(maps.Keys(m)) }

// begun returns those of the managers whose migration has begun.
func (m marks) begun(managers []string) []string {
	var out []string
	for _, name := range managers {
		if m[name] || name == managedfields.ClientSideApply && m[managedfields.BeforeFirstApply] {
			out = append(out, name)
		}
	}
	return out
}

func (m marks) set() *fieldpath.Set {
	set := fieldpath.NewSet()
	for name, migrates := range m {
		prefix := adopting
		if migrates {
			prefix = migrating
		}
		fieldpath.Insert(set, fieldpath.Field(prefix+name))
	}
	return set
}
