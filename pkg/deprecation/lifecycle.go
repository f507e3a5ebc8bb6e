package deprecation

import (
	_ "embed" // The table is text, so that a change of it can be reviewed.
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// table has a line for each built-in kind at a version: group, kind, version,
// introduced, deprecated, removed, replacement; "-" where there is none. The
// versions of a kind follow one another, the preferred one first.
//
//go:embed builtin.txt
var table string

// Lifecycle has the releases of a kind's version. Releases that are unknown, or not planned, are
// zero.
type Lifecycle struct {
	Introduced, Deprecated, Removed Release
	// Replacement is the type's own advice, which may itself be deprecated by now; empty if there
	// is none.
	Replacement schema.GroupVersionKind
}

// Builtin returns the lifecycle of a kind of Kubernetes at a version; false for any other kind.
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

// parseRow parses the cells after group and kind. The generator wrote them, and a test parses the
// whole table, so no error can occur.
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

// parseGVK parses group/version/Kind.
func parseGVK(s string) schema.GroupVersionKind {
	part := strings.Split(s, "/")
	if len(part) != 3 {
		return schema.GroupVersionKind{}
	}
	return schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]}
}
