package transport

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
