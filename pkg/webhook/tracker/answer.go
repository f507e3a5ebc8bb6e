package tracker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Checked returns a configuration whose clients reject responses that do not come from an API
// server (edge case 85). Otherwise a proxy's "not found" would make the tracker restart its
// history.
func Checked(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return answers{next} })
	return config
}

// answers checks successful JSON responses. Protobuf responses need no check: only an API server
// sends them, and a truncated one cannot be decoded. Watch events are checked separately.
type answers struct{ next http.RoundTripper }

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := a.next.RoundTrip(r)
	if err != nil || answer.StatusCode/100 != 2 || !ofAPI(r) || r.URL.Query().Has("watch") {
		return answer, err
	}
	if is, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err == nil && is == "application/vnd.kubernetes.protobuf" {
		return answer, nil
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err == nil {
		err = check(r, body)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: unexpected response (%s): %w", r.Method, r.URL.Path, answer.Status, err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

func ofAPI(r *http.Request) bool {
	path := r.URL.Path + "/"
	return strings.Contains(path, "/api/") || strings.Contains(path, "/apis/")
}

// check returns an error for a response that no API server sends: a proxy may answer every request with 200.
func check(r *http.Request, body []byte) error {
	var is struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta
		Items    *json.RawMessage
		Message  string
	}
	if err := json.Unmarshal(body, &is); err != nil {
		return errors.New("it is not a complete JSON object")
	}
	switch {
	case is.Kind == "":
		return errors.New("it has no kind")
	case is.Kind == "Status" && r.Method != http.MethodDelete:
		return fmt.Errorf("it is a Status (%s)", is.Message)
	case !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
		return nil
	case is.Kind != "PartialObjectMetadataList" && (kubernetesOwn(r.URL.Path) || !strings.HasSuffix(is.Kind, "List")):
		return fmt.Errorf("it is a %s, not a list of metadata", is.Kind)
	case is.Items == nil:
		return errors.New("it is a list without items")
	}
	return nil
}

// kubernetesOwn reports whether the API server itself serves a path. Other servers may not support
// metadata-only requests.
func kubernetesOwn(path string) bool {
	_, below, ok := strings.Cut(path, "/apis/")
	group, _, _ := strings.Cut(below, "/")
	return !ok || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// versioned returns an error if a response has no resource version, because a watch could not
// resume from it.
func versioned(version string) error {
	if version == "" {
		return errors.New("a response without a resourceVersion")
	}
	return nil
}
