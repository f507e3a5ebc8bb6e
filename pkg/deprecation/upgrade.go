package deprecation

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Known returns the oldest release that is supported, and the last of which the table knows
// anything: what its types announce.
func Known() (oldest, last Release) {
	for line := range strings.Lines(table) {
		if cells := strings.Fields(line); len(cells) > 2 && cells[0] != "#" {
			for _, event := range []Release{parseRow(cells[2:]).Deprecated, parseRow(cells[2:]).Removed} {
				if last.Compare(event) < 0 {
					last = event
				}
			}
		}
	}
	return v1(33), last
}

// Next returns the minor release that follows.
func (r Release) Next() Release { return Release{Major: r.Major, Minor: r.Minor + 1} }

// Versions returns the versions of a kind of Kubernetes, the preferred one first.
func Versions(kind schema.GroupKind) []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, r := range rowsOf(kind) {
		all = append(all, kind.WithVersion(r.version))
	}
	return all
}

// CheckUpgrade returns the notice for a kind of Kubernetes at a version before a server is
// upgraded: what the release to has deprecated, as the server sees it today, and whether that
// release no longer serves it. The advised version is one that both releases serve, if there
// is one. An unknown server sees it as the release to does.
func CheckUpgrade(gvk schema.GroupVersionKind, server, to Release) (n Notice, goes, ok bool) {
	if n, ok = Check(gvk, to); !ok || server.IsZero() {
		return n, n.Gone, ok
	}
	goes, n.Gone = n.Gone, server.reached(n.Removed)
	if use, known := Builtin(n.Use); known && server.Compare(use.Introduced) < 0 {
		now, _ := Check(gvk, server)
		if both, known := Builtin(now.Use); known && both.servedBy(to) {
			n.Use = now.Use
		}
	}
	return n, goes, ok
}

// Goes reports whether the field has no function in that release.
func (n FieldNotice) Goes() bool { return !n.Gone.IsZero() }

// Steps returns the path as keys and positions, from the top of the object.
func (n FieldNotice) Steps() []any { return n.steps }

// Stored returns the versions at which objects may still be stored, although the definition
// deprecates or no longer serves them, and the one at which they are written now. The API server
// refuses a definition that leaves out a version of its status.storedVersions.
func (d Definition) Stored() (old []string, now string) {
	for _, v := range d.Versions {
		switch {
		case v.Storage:
			now = v.Name
		case v.Stored && (v.Deprecated || !v.Served):
			old = append(old, v.Name)
		}
	}
	return old, now
}
