// Package warningtext contains the words by which the plugin recognizes the webhook's warnings. A
// Warning header has no field for programs: the API server sends the same code and agent with each
// warning.
package warningtext

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	takenFrom = " taken from "
	moreTaken = " more taken"
	repeats   = "deprecated, as the API server warns: "

	alsoRepeats = "; " + repeats
)

// NameLength is the length to which long names are shortened in warnings. An object's name may be
// twice as long.
const NameLength = 48

// Name returns Kind/namespace/name, with - for an empty part. Long parts lose their middle.
func Name(kind, namespace, name string) string {
	part := func(s string, most int) string { return cmp.Or(text.TruncateMiddle(text.Printable(s), most), "-") }
	return part(kind, NameLength) + "/" + part(namespace, NameLength+NameLength/2) + "/" + part(name, 2*NameLength)
}

// About returns a warning about an object. [Cut] finds the object again.
func About(name, what string) string { return name + ": " + what }

// Cut returns a warning's text without the name of the object, and whether the warning began with
// the name.
func Cut(name, warning string) (what string, ours bool) { return strings.CutPrefix(warning, name+": ") }

// Taken returns the end of a warning about paths that were taken.
func Taken(from, by string) string { return takenFrom + from + " by " + by }

// MoreTaken returns the text about takeovers that are not listed.
func MoreTaken(count int) string { return fmt.Sprintf("+%d%s", count, moreTaken) }

// Repeated returns the beginning of the text that repeats the API server's warnings, to add the
// object's name.
func Repeated() string { return repeats }

// AndRepeated returns a text with another one, about the API server's warnings, at its end.
func AndRepeated(what, paths string) string { return what + alsoRepeats + paths }

// WithoutRepeated returns a text without the end that [AndRepeated] added.
func WithoutRepeated(what string) string {
	before, _, _ := strings.Cut(what, alsoRepeats)
	return before
}

// IsTakeover reports whether a text, without the object, is about takeovers.
func IsTakeover(what string) bool {
	return strings.Contains(what, takenFrom) || strings.HasSuffix(what, moreTaken)
}

// IsRepeated reports whether a text, without the object, repeats the API server's warnings.
func IsRepeated(what string) bool { return strings.HasPrefix(what, repeats) }
