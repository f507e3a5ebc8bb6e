package cli

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// A run that ends before it has a plan also prints its id, once, on the last line. The server's
// audit log identifies the requests of the run by this id.
func TestEarlyErrorPrintsRunID(t *testing.T) {
	for verb, args := range callsOf(t) {
		t.Run(verb, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`))
			}))
			defer server.Close()
			noCluster(t)
			t.Setenv("KUBECONFIG", "kubeconfig")
			write(t, "kubeconfig", strings.ReplaceAll(twoContexts, "https://127.0.0.1:1", server.URL))
			write(t, "map.yaml", oneMap)
			code, _, stderr := call(t, args...)
			want := 1
			if verb == "completion" {
				want = 0
			}
			if lines := regexp.MustCompile(`(?m)^run: [0-9A-Z]{26}$`).FindAllString(stderr, -1); len(lines) != want {
				t.Errorf("exit status %d, %d ids:\n%s", code, len(lines), stderr)
			}
		})
	}
}
