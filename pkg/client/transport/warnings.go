package transport

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Warnings gives each warning of the server the object of its request. A handler
// that remembers the object in a field would give it to whichever object asked
// last (edge case 34).
type Warnings struct {
	tell func(object.Ref, string)

	telling *sync.Mutex // guards told, and serialises tell
	told    map[object.Ref][]string
	// deprecated holds the deprecations that an object was warned about, and by which
	// server.
	deprecated map[announced]bool
}

// announced is something that the webhook or the API server called deprecated.
type announced struct {
	ref     object.Ref
	subject string
	ours    bool
}

// miscWarning is the code of all warnings that the API server sends.
const miscWarning = 299

// NewWarnings returns a handler that holds telling while it calls tell.
func NewWarnings(telling *sync.Mutex, tell func(object.Ref, string)) *Warnings {
	return &Warnings{tell: tell, telling: telling, told: map[object.Ref][]string{}, deprecated: map[announced]bool{}}
}

// HandleWarningHeaderWithContext reports a warning, once for each object: a dry run and
// the write after it return the same warning. A warning about a list concerns every
// object that the list was read for, as if each had been read by itself.
//
// Our webhook's warnings are folded into these. We report ourselves what is taken from
// others, with both values, and a write that takes is bound to the version that was read;
// the API server also reports what is deprecated, in other words.
func (w *Warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if w.tell == nil || code != miscWarning || text == "" {
		return
	}
	attempt := attemptOf(ctx)
	if attempt.quiet {
		return
	}
	about := attempt.about
	if len(about) == 0 {
		about = []object.Ref{{}}
	}
	w.telling.Lock()
	defer w.telling.Unlock()
	for _, ref := range about {
		text, ours := withoutName(ref, text)
		if slices.Contains(w.told[ref], text) || ours && (isTakeover(text) || w.repeats(ref, text)) || w.known(ref, text, ours) {
			continue
		}
		w.told[ref] = append(w.told[ref], text)
		w.tell(ref, text)
	}
}

// repeats reports whether the webhook only names the object of what the API server has warned
// of: its warnings come first, since the webhook is asked later.
func (w *Warnings) repeats(ref object.Ref, text string) bool {
	return len(w.told[ref]) > 0 && strings.HasPrefix(text, "deprecated, as the API server warns: ")
}

// known reports whether the other one of the API server and the webhook has warned about
// the same in the object, and records which of them warned about what.
func (w *Warnings) known(ref object.Ref, text string, ours bool) bool {
	for _, told := range w.told[ref] {
		// A definition's author may word it in a way that cannot be known in advance: the
		// webhook quotes that text.
		if strings.HasSuffix(text, ": "+told) || strings.HasSuffix(told, ": "+text) {
			return true
		}
	}
	subject := deprecatedIn(ref, text)
	if subject == "" {
		return false
	}
	w.deprecated[announced{ref, subject, ours}] = true
	return w.deprecated[announced{ref, subject, !ours}]
}

// deprecatedIn returns what a text calls deprecated, the object's version or one of its
// fields, in a form in which the API server's words and those of the webhook are equal;
// empty if it calls nothing deprecated. A warning has no reason and no field: its text is
// all there is.
func deprecatedIn(ref object.Ref, text string) string {
	if !strings.Contains(text, "deprecated") && !strings.Contains(text, "removed in") {
		return ""
	}
	subject, _, _ := strings.Cut(text, " ")
	if subject == ref.GVK.GroupVersion().String() {
		return "version"
	}
	// "spec.a[0].b: deprecated", ".spec.a[name="x"].b is deprecated"
	subject = strings.TrimPrefix(strings.TrimSuffix(subject, ":"), ".")
	if first, _, _ := strings.Cut(subject, "."); first != "spec" && first != "metadata" && first != "data" && !strings.HasPrefix(text, ".") {
		return ""
	}
	return whichItem.ReplaceAllString(strings.ReplaceAll(subject, `"`, ""), "[]")
}

// whichItem is how a path says which item of a list is meant: by its position, or by
// its key.
var whichItem = regexp.MustCompile(`\[(\d+|[^\]]*=[^\]]*)\]`)

// withoutName removes the object's name from a warning of the webhook, which adds it for
// all clients; our reports name the object anyway.
func withoutName(ref object.Ref, text string) (rest string, ours bool) {
	name := ref.GVK.Kind + "/" + cmp.Or(ref.Namespace, "-") + "/" + ref.Name
	return strings.CutPrefix(text, name+": ")
}

// isTakeover reports whether the webhook says, after the object's name, that fields
// were taken.
func isTakeover(text string) bool {
	return strings.Contains(text, " taken from ") || strings.HasSuffix(text, " more taken")
}
