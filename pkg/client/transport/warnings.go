package transport

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Catalogue checks an answer about what the server serves, at a path below the base; other
// answers it leaves alone. client-go reads these, some through caches, and treats whatever
// is missing as not served (edge case 85). Where it wants the text of an answer, it drops the
// Status that came instead: refused is that one, nil if the server did not refuse.
func Catalogue(base, asked string, resp *http.Response) (refused *metav1.Status, err error) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(asked, base), "/"), "/")
	failed := resp.StatusCode >= http.StatusBadRequest
	if !isCatalogue(parts) || resp.StatusCode != http.StatusOK && !failed || !claimsJSON(resp) {
		return nil, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // It was read, or it failed before.
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if failed {
		var said metav1.Status
		if json.Unmarshal(body, &said) != nil || said.Kind != "Status" || said.Status != metav1.StatusFailure {
			return nil, nil // A proxy may say anything.
		}
		return &said, nil
	}
	var text catalogue
	if err := json.Unmarshal(body, &text); err != nil {
		return nil, Garbled(body)
	}
	if !text.isAt(parts) {
		return nil, Wrong("%s answers with %s", asked, describe(metav1.TypeMeta{Kind: text.Kind, APIVersion: text.APIVersion}, text.Message))
	}
	return nil, nil
}

// isCatalogue distinguishes the paths of what is served from those of objects.
func isCatalogue(parts []string) bool {
	switch parts[0] {
	case "version", "openapi":
		return true
	case "api":
		return len(parts) <= 2
	case "apis":
		return len(parts) <= 3
	}
	return false
}

// claimsJSON reports whether the body of an answer can be checked. An answer without a
// content type is read as JSON.
func claimsJSON(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err != nil || kind == "application/json" || kind == "text/plain"
}

// catalogue is what distinguishes the answers about what is served.
type catalogue struct {
	Kind, APIVersion, Message, GroupVersion, GitVersion, OpenAPI string
	Versions, Groups, Items                                      []json.RawMessage
	Paths                                                        map[string]json.RawMessage
}

// isAt reports whether an answer is the one of a path. No server serves no groups at all.
func (c catalogue) isAt(parts []string) bool {
	switch {
	case parts[0] == "version":
		return c.GitVersion != ""
	case parts[0] == "openapi":
		return len(c.Paths) > 0 || c.OpenAPI != ""
	case len(parts) == 1:
		return c.Kind == "APIVersions" && len(c.Versions) > 0 || c.Kind == "APIGroupList" && len(c.Groups) > 0 ||
			c.Kind == "APIGroupDiscoveryList" && len(c.Items) > 0
	}
	return c.Kind == "APIResourceList" && c.GroupVersion == strings.Join(parts[1:], "/")
}
