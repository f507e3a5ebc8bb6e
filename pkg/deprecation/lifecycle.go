package deprecation

import (
	"cmp"
	_ "embed" // The table is text, so that changes to it can be reviewed.
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// table has a line for each built-in kind at a version: group, kind, version, introduced,
// deprecated, removed, replacement; "-" if there is none. The versions of a kind follow each other,
// the preferred one first.
//
//go:embed builtin.txt
var table string

// Lifecycle contains the releases that introduce, deprecate and remove a version of a kind. Unknown
// and unplanned releases are zero.
type Lifecycle struct {
	Introduced, Deprecated, Removed Release
	// Replacement is the version that the type's documentation recommends instead; empty if there
	// is none. It may itself be deprecated by now.
	Replacement schema.GroupVersionKind
}

// Builtin returns the lifecycle of a built-in kind at a version; false for other kinds.
func Builtin(gvk schema.GroupVersionKind) (Lifecycle, bool) {
	for _, r := range rowsOf(gvk.GroupKind()) {
		if r.version == gvk.Version {
			return r.Lifecycle, true
		}
	}
	return Lifecycle{}, false
}

type row struct {
	version string
	Lifecycle
}

// rowsOf returns the rows for the versions of a kind, the preferred one first.
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

// none represents an empty cell of the table, and the core group.
const none = "-"

// parseRow parses the cells after group and kind. It ignores errors, because a test parses the
// whole table.
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

func parseGVK(s string) schema.GroupVersionKind {
	part := strings.Split(s, "/")
	if len(part) != 3 {
		return schema.GroupVersionKind{}
	}
	return schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]}
}

// Release is a minor release of Kubernetes, such as 1.29. Zero means unknown, or none.
type Release struct {
	Major, Minor int
}

// ParseRelease parses the release from a version as servers and providers write it: "1.29",
// "v1.35.2-gke.100" or "1.36+".
func ParseRelease(s string) (Release, error) {
	major, rest, ok := strings.Cut(strings.TrimPrefix(s, "v"), ".")
	r := Release{Major: number(major), Minor: number(digits(rest))}
	if !ok || r.Major <= 0 || r.Minor < 0 {
		return Release{}, fmt.Errorf("%q is not a Kubernetes version such as 1.38", s)
	}
	return r, nil
}

// Server returns the release whose APIs a server serves: the one that it emulates (KEP-4330), or
// its own.
func Server(info version.Info) (Release, error) {
	if info.EmulationMajor != "" && info.EmulationMinor != "" {
		return ParseRelease(info.EmulationMajor + "." + info.EmulationMinor)
	}
	if info.Major != "" && info.Minor != "" {
		return ParseRelease(info.Major + "." + info.Minor)
	}
	return ParseRelease(info.GitVersion)
}

// String returns the release in the form "1.29"; empty for the zero value.
func (r Release) String() string {
	if r.IsZero() {
		return ""
	}
	return strconv.Itoa(r.Major) + "." + strconv.Itoa(r.Minor)
}

// IsZero reports whether the release is unknown.
func (r Release) IsZero() bool { return r == Release{} }

// Compare orders releases; an unknown one comes first.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Major, other.Major), cmp.Compare(r.Minor, other.Minor))
}

func (r Release) reached(other Release) bool {
	return !r.IsZero() && !other.IsZero() && r.Compare(other) >= 0
}

// digits returns the leading digits. Providers append a suffix to the minor version.
func digits(s string) string {
	if end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		return s[:end]
	}
	return s
}

func number(s string) int {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// Known returns the oldest supported release, and the last release that the table mentions.
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

// Next returns the next minor release.
func (r Release) Next() Release { return Release{Major: r.Major, Minor: r.Minor + 1} }

// Versions returns the versions of a built-in kind, the preferred one first.
func Versions(kind schema.GroupKind) []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, r := range rowsOf(kind) {
		all = append(all, kind.WithVersion(r.version))
	}
	return all
}

// CheckUpgrade returns the notice for a built-in kind at a version. ok is false if the target
// release (to) is unknown or has not deprecated the version. The notice's Gone is about the current
// release (server). goes is set if the target release no longer serves the version. The recommended
// version is one that both releases serve, if there is one. If server is unknown, the notice is
// that of the target release.
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

// Goes reports whether the field no longer has an effect in the release that was passed to
// [Fields].
func (n FieldNotice) Goes() bool { return !n.Gone.IsZero() }

// Steps returns the path as keys and positions, from the root of the object.
func (n FieldNotice) Steps() []any { return n.steps }

// Stored returns the CRD's current storage version (now) and the deprecated or unserved versions at
// which objects may still be stored (old). The API server does not let a CRD omit a version that is
// listed in its status.storedVersions.
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
