package deprecation

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Notice says that a version of a kind is deprecated on a server.
type Notice struct {
	Kind schema.GroupVersionKind
	// Since and Removed are zero if unknown.
	Since, Removed Release
	// Gone reports whether the server's release has removed the version.
	Gone bool
	// Use is the served replacement; empty if there is none.
	Use schema.GroupVersionKind
	// Words contains the CRD author's warning, unescaped; String makes it safe to print.
	Words string
}

// Check returns the notice for a built-in kind at a version on a server of the given release; false
// if that release has not deprecated it, or is unknown.
func Check(gvk schema.GroupVersionKind, server Release) (Notice, bool) {
	lc, ok := Builtin(gvk)
	if !ok || !server.reached(lc.Deprecated) {
		return Notice{}, false
	}
	return Notice{
		Kind:    gvk,
		Since:   lc.Deprecated,
		Removed: lc.Removed,
		Gone:    server.reached(lc.Removed),
		Use:     successor(gvk, lc, server),
	}, true
}

// successor returns the documented replacement if the server serves it and has not deprecated it.
// Otherwise it returns the most preferred version that the server serves and has not deprecated. If
// there is no such version, it returns the documented replacement if the server at least serves
// that.
func successor(gvk schema.GroupVersionKind, lc Lifecycle, server Release) schema.GroupVersionKind {
	named := lc.Replacement
	kind := gvk.GroupKind()
	if !named.Empty() {
		kind = named.GroupKind()
	}
	var preferred, fallback schema.GroupVersionKind
	for _, r := range rowsOf(kind) {
		candidate := kind.WithVersion(r.version)
		switch {
		case candidate == gvk, !r.servedBy(server):
		case server.reached(r.Deprecated):
			if candidate == named {
				fallback = named
			}
		case preferred.Empty(), candidate == named:
			preferred = candidate
		}
	}
	if preferred.Empty() {
		return fallback
	}
	return preferred
}

func (lc Lifecycle) servedBy(server Release) bool {
	return server.Compare(lc.Introduced) >= 0 && !server.reached(lc.Removed)
}

// String returns one line of at most [MaxText] bytes, without control characters and without the
// object's name:
//
//	flowcontrol.apiserver.k8s.io/v1beta3 is deprecated since 1.29, to be removed in 1.32; use v1
func (n Notice) String() string {
	var b strings.Builder
	b.WriteString(n.subject())
	if n.Gone && n.Since == n.Removed {
		b.WriteString(" was removed in " + n.Removed.String())
	} else {
		b.WriteString(" is deprecated")
		if !n.Since.IsZero() {
			b.WriteString(" since " + n.Since.String())
		}
		switch {
		case n.Removed.IsZero():
		case n.Gone:
			b.WriteString(", removed in " + n.Removed.String())
		default:
			b.WriteString(", to be removed in " + n.Removed.String())
		}
	}
	switch use := n.advice(); {
	case use != "":
		b.WriteString("; use " + use)
	case n.Words != "":
		b.WriteString(": " + n.Words)
	}
	return line(b.String())
}

func (n Notice) subject() string {
	if n.Kind.Group == "" {
		return n.Kind.Version + " " + n.Kind.Kind
	}
	return n.Kind.GroupVersion().String()
}

// advice returns the replacement without the parts that it has in common with Kind; "" if there is
// no replacement.
func (n Notice) advice() string {
	switch {
	case n.Use.Empty():
		return ""
	case n.Use.Kind != n.Kind.Kind:
		return n.Use.GroupVersion().String() + " " + n.Use.Kind
	case n.Use.Group != n.Kind.Group:
		return n.Use.GroupVersion().String()
	}
	return n.Use.Version
}

// FieldNotice says that a deprecated field is set in an object.
type FieldNotice struct {
	// Path has the format of field-ownership paths. List items without a name are numbered. The
	// path contains no values.
	Path string
	// Value is the deprecated value, if the field itself is not deprecated. It is a Kubernetes
	// term, such as the name of a label, and never a user's value.
	Value string
	// Since is the release that deprecated the field, and Gone is the first release in which it has
	// no effect; each is zero if unknown or in the future.
	Since, Gone Release
	Use         string
	// ServerWarns reports whether the API server warns too, with the path and without the object's
	// name.
	ServerWarns bool
	// spot consists of Value and of Path without its item numbers. If it included them, a field
	// would look new after its list item moved.
	spot  string
	steps []any
}

// String returns one line of at most [MaxText] bytes, without control characters. A long path is
// truncated in the middle.
//
//	.spec.volumes[name="logs"].flexVolume is deprecated since 1.23; use a CSI driver
//	.spec.trafficDistribution: PreferClose is deprecated since 1.34; use PreferSameZone
func (n FieldNotice) String() string {
	var b strings.Builder
	if n.Value != "" {
		b.WriteString(": " + n.Value)
	}
	b.WriteString(" is deprecated")
	if !n.Since.IsZero() {
		b.WriteString(" since " + n.Since.String())
	}
	if !n.Gone.IsZero() {
		b.WriteString(", non-functional since " + n.Gone.String())
	}
	if n.Use != "" {
		b.WriteString("; use " + n.Use)
	}
	return line(text.TruncateMiddle(n.Path, MaxText-b.Len()-len(text.Ellipsis)+1) + b.String())
}

// MaxText is the maximum length of a text of this package, in bytes. The API server truncates
// warnings to 256 bytes if there are many, and the object's name comes first.
const MaxText = 200

func line(s string) string {
	return text.Truncate(text.OneLine(s), MaxText)
}
