package deprecation

import (
	_ "embed" // The table is a text, so that a change of it can be reviewed.
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// table has a line for each built-in kind at a version: group, kind, version,
// introduced, deprecated, removed, replacement; "-" where there is none. The
// versions of a kind follow one another, the preferred one first.
//
//go:embed builtin.txt
var table string

// Lifecycle says in which releases a kind is served at a version. Releases that are
// unknown, or not planned, are zero.
type Lifecycle struct {
	Introduced, Deprecated, Removed Release
	// Replacement is the one that the type itself names, which may be deprecated as well
	// by now; empty if it names none.
	Replacement schema.GroupVersionKind
}

// Builtin returns the lifecycle of a kind of Kubernetes at a version, and false for
// any other, or unknown, kind.
func Builtin(gvk schema.GroupVersionKind) (Lifecycle, bool) {
	for _, r := range rowsOf(gvk.GroupKind()) {
		if r.version == gvk.Version {
			return r.Lifecycle, true
		}
	}
	return Lifecycle{}, false
}

// row is a line of the table.
type row struct {
	version string
	Lifecycle
}

// rowsOf returns the versions of a kind, the preferred one first.
func rowsOf(kind schema.GroupKind) []row {
	group := kind.Group
	if group == "" {
		group = none
	}
	if kind.Kind == "" || strings.ContainsAny(group+kind.Kind, " \n") {
		return nil
	}
	prefix := group + " " + kind.Kind + " "
	_, block, found := strings.Cut(table, "\n"+prefix)
	if !found {
		return nil
	}
	var rows []row
	for line := range strings.Lines(prefix + block) {
		cells, ours := strings.CutPrefix(line, prefix)
		if !ours {
			break
		}
		rows = append(rows, parseRow(strings.Fields(cells)))
	}
	return rows
}

// none stands for an empty cell of the table, and for the core group.
const none = "-"

// parseRow reads what follows group and kind. The generator wrote it, and a test
// reads all of it, so no error can occur.
func parseRow(cells []string) row {
	if len(cells) != 5 {
		return row{}
	}
	r := row{version: cells[0]}
	for i, to := range []*Release{&r.Introduced, &r.Deprecated, &r.Removed} {
		*to, _ = ParseRelease(cells[i+1])
	}
	r.Replacement = parseGVK(cells[4])
	return r
}

// parseGVK reads group/version/Kind.
func parseGVK(s string) schema.GroupVersionKind {
	part := strings.Split(s, "/")
	if len(part) != 3 {
		return schema.GroupVersionKind{}
	}
	return schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]}
}
