package answer

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Catalogue verifies an answer about what the server serves. client-go reads these, some
// through caches, and treats whatever is missing as not served, so they are checked
// before client-go sees them (edge case 85).
func Catalogue(base, asked string, resp *http.Response) error {
	check := catalogueCheck(strings.TrimPrefix(asked, base))
	if check == nil || resp.StatusCode != http.StatusOK || !claimsJSON(resp) {
		return nil
	}
	body, err := taken(resp)
	if err != nil {
		return err
	}
	var text catalogueText
	if err := json.Unmarshal(body, &text); err != nil {
		return Garbled(body)
	}
	if !check(text) {
		u, err := Any(body)
		if err != nil {
			return err
		}
		return Wrong("%s answers with %s", asked, Describe(u))
	}
	return nil
}

// Refusal returns the Status with which a server answers that it does not say what it
// serves; nil if it says so, or if something else answers. client-go does not read it where
// it wants the text of an answer.
func Refusal(base, asked string, resp *http.Response) (*metav1.Status, error) {
	if catalogueCheck(strings.TrimPrefix(asked, base)) == nil || resp.StatusCode < http.StatusBadRequest || !claimsJSON(resp) {
		return nil, nil
	}
	body, err := taken(resp)
	if err != nil {
		return nil, err
	}
	var said metav1.Status
	if json.Unmarshal(body, &said) != nil || said.Kind != "Status" || said.Status != metav1.StatusFailure {
		return nil, nil // A proxy may say anything.
	}
	return &said, nil
}

// taken reads the body of an answer, and leaves it to be read again.
func taken(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // It was read, or it failed before.
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// claimsJSON reports whether the body of an answer can be checked. An answer without a
// content type is read as JSON.
func claimsJSON(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err != nil || kind == "application/json" || kind == "text/plain"
}

// catalogueText identifies the kind of an answer about the server.
type catalogueText struct {
	Kind, Name, GroupVersion, GitVersion string
	Versions, Groups, Items              []json.RawMessage
	Resources                            *[]json.RawMessage
	Paths                                map[string]json.RawMessage
	OpenAPI                              string
}

// catalogueCheck returns the check for an answer at a path below the base; nil for paths
// of objects.
func catalogueCheck(path string) func(catalogueText) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch root, n := parts[0], len(parts); {
	case path == "/version":
		return func(t catalogueText) bool { return t.GitVersion != "" }
	case root == "api" && n == 1:
		return func(t catalogueText) bool {
			return t.Kind == "APIVersions" && len(t.Versions) > 0 || t.aggregated()
		}
	case root == "apis" && n == 1:
		return func(t catalogueText) bool { return t.Kind == "APIGroupList" && len(t.Groups) > 0 || t.aggregated() }
	case root == "apis" && n == 2:
		return func(t catalogueText) bool { return t.Kind == "APIGroup" && t.Name == parts[1] && len(t.Versions) > 0 }
	case root == "api" && n == 2, root == "apis" && n == 3:
		gv := strings.Join(parts[1:], "/")
		return func(t catalogueText) bool {
			return t.Kind == "APIResourceList" && t.GroupVersion == gv && t.Resources != nil
		}
	case root == "openapi" && n == 2:
		return func(t catalogueText) bool { return len(t.Paths) > 0 }
	case root == "openapi":
		return func(t catalogueText) bool { return t.OpenAPI != "" }
	}
	return nil
}

// aggregated reports whether it is a catalogue of everything (KEP-3352).
func (t catalogueText) aggregated() bool {
	return t.Kind == "APIGroupDiscoveryList" && len(t.Items) > 0
}
