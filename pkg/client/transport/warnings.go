package transport

import (
	"bytes"
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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/warningtext"
)

// Warnings reports each warning with the object that the request concerns, taken from the request's
// context. The object cannot be a field of Warnings, because a warning would then be reported with
// the object of the latest request (edge case 34).
type Warnings struct {
	report func(object.Ref, string)

	reporting  *sync.Mutex // guards reported and serializes report
	reported   map[object.Ref][]string
	deprecated map[announced]bool
	// ofVersion holds the warnings of reads. Admission does not see a read, so they concern the
	// version of the kind.
	ofVersion map[ofVersion]bool
}

type ofVersion struct {
	kind schema.GroupVersionKind
	text string
}

type announced struct {
	ref     object.Ref
	subject string
	ours    bool
}

const miscWarning = 299

// NewWarnings returns a handler that calls tell for each warning, with the mutex (telling) locked.
func NewWarnings(reporting *sync.Mutex, report func(object.Ref, string)) *Warnings {
	return &Warnings{
		report: report, reporting: reporting,
		reported: map[object.Ref][]string{}, deprecated: map[announced]bool{}, ofVersion: map[ofVersion]bool{},
	}
}

// HandleWarningHeaderWithContext reports a warning only once for each object, because a dry run and
// the write after it return the same warning. A warning about a list concerns every object for
// which the list was read. If it was read for none, as with a list that finds the contents of a
// namespace, it is dropped: it is about the plugin's own read, not about the user's objects.
//
// It drops two kinds of warnings from our webhook, because they duplicate other warnings: warnings
// about takeovers, which we report ourselves, with both values; and warnings about deprecations,
// which the API server reports in other words.
func (w *Warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if w.report == nil || code != miscWarning || text == "" {
		return
	}
	attempt := attemptOf(ctx)
	if attempt.quiet {
		return
	}
	about := attempt.about
	if len(about) == 0 && attempt.kind.Kind != "" {
		return
	}
	if len(about) == 0 {
		about = []object.Ref{{}}
	}
	w.reporting.Lock()
	defer w.reporting.Unlock()
	if attempt.reads {
		w.ofVersion[ofVersion{attempt.kind, text}] = true
	}
	for _, ref := range about {
		text, ours := withoutName(ref, text)
		if attempt.deleting && (w.ofVersion[ofVersion{attempt.kind, text}] || deprecatedIn(ref, text) == "version") {
			continue
		}
		if ours && len(w.reported[ref]) > 0 {
			text = warningtext.WithoutRepeated(text)
		}
		repeated := len(w.reported[ref]) > 0 && warningtext.IsRepeated(text)
		if slices.Contains(w.reported[ref], text) || ours && (warningtext.IsTakeover(text) || repeated) || w.known(ref, text, ours) {
			continue
		}
		w.reported[ref] = append(w.reported[ref], text)
		w.report(ref, text)
	}
}

// known reports whether both the API server and the webhook have warned about the same thing in the
// object. It also records this warning.
func (w *Warnings) known(ref object.Ref, text string, ours bool) bool {
	for _, reported := range w.reported[ref] {
		// The webhook quotes the author of a CRD, who may use any wording.
		if strings.HasSuffix(text, ": "+reported) || strings.HasSuffix(reported, ": "+text) {
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

// deprecatedIn returns the deprecated version or field; "" if there is none. The result is the same
// for the API server's wording and for the webhook's.
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

var whichItem = regexp.MustCompile(`\[(\d+|[^\]]*=[^\]]*)\]`)

// withoutName removes the object's name, which our webhook adds for clients that do not show the
// name. ours is set if the name was there.
func withoutName(ref object.Ref, text string) (rest string, ours bool) {
	return warningtext.Cut(warningtext.Name(ref.GVK.Kind, ref.Namespace, ref.Name), text)
}

// Catalogue checks the response to a discovery request below base. It ignores other responses.
// client-go would treat everything missing from a wrong response as not served (edge case 85).
// refused is the Status of a failed request, which client-go may drop.
func Catalogue(base, asked string, resp *http.Response) (refused *metav1.Status, err error) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(asked, base), "/"), "/")
	failed := resp.StatusCode >= http.StatusBadRequest
	if !isCatalogue(parts) || resp.StatusCode != http.StatusOK && !failed || !claimsJSON(resp) {
		return nil, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if failed {
		var message metav1.Status
		if json.Unmarshal(body, &message) != nil || message.Kind != "Status" || message.Status != metav1.StatusFailure {
			return nil, nil
		}
		return &message, nil
	}
	var text catalogue
	if err := json.Unmarshal(body, &text); err != nil {
		return nil, Garbled(body)
	}
	if !text.isAt(parts) {
		return nil, Wrong("%s returned %s", asked, describe(metav1.TypeMeta{Kind: text.Kind, APIVersion: text.APIVersion}, text.Message))
	}
	return nil, nil
}

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

// A body without a content type is treated as JSON.
func claimsJSON(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err != nil || kind == "application/json" || kind == "text/plain"
}

type catalogue struct {
	Kind, APIVersion, Message, GroupVersion, GitVersion, OpenAPI string
	Versions, Groups, Items                                      []json.RawMessage
	Paths                                                        map[string]json.RawMessage
}

// An empty response is wrong for every path, because every server serves some groups.
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
