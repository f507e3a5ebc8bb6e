package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// unite returns each kind's lifecycle from the newest module that has it, corrected by the overlay.
func unite(mods []module, overlay lifecycles) (lifecycles, error) {
	mods = slices.SortedStableFunc(slices.Values(mods), func(a, b module) int {
		return cmp.Or(cmp.Compare(a.path, b.path), a.release.Compare(b.release))
	})
	all := lifecycles{}
	var last module
	var had lifecycles
	for _, m := range mods {
		kinds, err := read(m.dir)
		if err != nil {
			return nil, err
		}
		if m.path == last.path {
			if m.release.Minor != last.release.Minor+1 {
				return nil, fmt.Errorf("%s: between %s and %s a minor is missing", m.path, last.version, m.version)
			}
			gone(all, had, kinds, m.release)
		}
		maps.Copy(all, kinds)
		last, had = m, kinds
	}
	maps.DeleteFunc(all, func(gvk schema.GroupVersionKind, _ deprecation.Lifecycle) bool { return !isObject(gvk.Kind) })
	maps.Copy(all, overlay)
	return all, all.check()
}

// gone records that servers of a release cannot serve a type that its module lacks: alphas often go
// earlier than their tags said.
func gone(all, had, has lifecycles, release deprecation.Release) {
	for gvk := range had {
		if _, there := has[gvk]; there || !isPrerelease(gvk.Version) {
			continue
		}
		lc := all[gvk]
		if lc.Removed.IsZero() || lc.Removed.Compare(release) > 0 {
			lc.Removed = release
		}
		if lc.Deprecated.Compare(lc.Removed) > 0 {
			lc.Deprecated = lc.Removed
		}
		all[gvk] = lc
	}
}

// isObject reports whether clients send objects of a kind: not lists of objects, nor parameters of
// a request.
func isObject(kind string) bool {
	return !strings.HasSuffix(kind, "List") && !strings.HasSuffix(kind, "Options")
}

// check refuses entries that cannot be reported. They are errors in the types themselves, to be
// corrected in the overlay.
func (l lifecycles) check() error {
	for _, gvk := range l.sorted() {
		lc := l[gvk]
		if r := lc.Replacement; !r.Empty() {
			if _, known := l[r]; !known || r == gvk {
				return fmt.Errorf("%s: its replacement %s is no kind that is known", name(gvk), name(r))
			}
		}
		if !lc.Removed.IsZero() && lc.Removed.Compare(lc.Deprecated) < 0 {
			return fmt.Errorf("%s: removed in %s, deprecated in %s", name(gvk), lc.Removed, lc.Deprecated)
		}
	}
	return nil
}
