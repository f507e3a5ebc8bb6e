package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// Edge case 94: a list may expire at every continuation. For every caller, it still ends after a
// few requests.
func TestListAlwaysExpires(t *testing.T) {
	const handful = 6
	expired := func(token string) *http.Response {
		return clienttest.Reply(410, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, ListMeta: metav1.ListMeta{Continue: token},
			Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired,
		})
	}
	more := func() *http.Response { return clienttest.Reply(http.StatusOK, clienttest.Items("more", "a")) }
	for name, answer := range map[string]func(next string, limited bool) *http.Response{
		"without a new token": func(next string, limited bool) *http.Response {
			switch {
			case next != "":
				return expired("")
			case limited:
				return more()
			}
			return clienttest.Reply(http.StatusOK, clienttest.Items("", "a"))
		},
		"with a new token": func(next string, limited bool) *http.Response {
			switch {
			case next != "":
				return expired(next + "x")
			case limited:
				return more()
			}
			return clienttest.Reply(http.StatusOK, clienttest.Items("", "a"))
		},
		"even without a limit": func(next string, _ bool) *http.Response {
			if next != "" {
				return expired("")
			}
			return more()
		},
		"with the code only": func(next string, limited bool) *http.Response {
			if next != "" {
				return clienttest.Failure(http.StatusGone, "", nil)
			}
			return more()
		},
		"the same page forever": func(string, bool) *http.Response { return more() },
	} {
		for _, q := range questions() {
			if !slices.Contains([]string{"Live, a list", "Select", "Names", "NoRetry.List", "NoRetry.Metadata", "Count", "Watch"}, q.Name) {
				continue
			}
			t.Run(q.Name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
						query := req.URL.Query()
						switch {
						case strings.HasSuffix(req.URL.Path, "/configmaps") && query.Get("watch") == "":
							return answer(query.Get("continue"), query.Get("limit") != ""), nil
						case query.Get("watch") != "":
							return clienttest.Failure(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, nil), nil // the end
						}
						return clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: "a"}), nil
					})
					c.Know(clienttest.ConfigMaps(), false)
					_ = q.Ask(t.Context(), c)
					if n := f.Count("GET /api/v1/namespaces/prod/configmaps") - f.Count("GET /api/v1/namespaces/prod/configmaps/"); n > handful {
						t.Errorf("%d requests, want at most %d", n, handful)
					}
				})
			})
		}
	}
}
