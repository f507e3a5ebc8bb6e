package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// away is an API server with ConfigMaps and an aggregated API whose own server can become
// unreachable. It has no objects, and any write is an error.
type away struct {
	*httptest.Server
	group string
	gone  atomic.Bool
	mu    sync.Mutex
	seen  []string
}

const (
	mapList   = `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["get","list","watch","patch","delete"]}]}`
	thingList = `{"kind":"APIResourceList","groupVersion":"GROUP/v1","resources":[{"name":"things","namespaced":true,"kind":"Thing","verbs":["get","list","watch","patch","delete"]}]}`
	awayGroup = `{"name":"GROUP","versions":[{"groupVersion":"GROUP/v1","version":"v1"}],"preferredVersion":{"groupVersion":"GROUP/v1","version":"v1"}}`
)

func newAway(t *testing.T, group string) *away {
	t.Helper()
	s := &away{group: group}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	noCluster(t)
	t.Setenv("KUBECONFIG", "kubeconfig")
	write(t, "kubeconfig", strings.ReplaceAll(twoContexts, "https://127.0.0.1:1", s.URL))
	write(t, "set.yaml", "apiVersion: "+group+"/v1\nkind: Thing\nmetadata: {name: x, namespace: default}\n---\n"+oneMap)
	return s
}

func (s *away) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	known := map[string]string{
		"/readyz":                               "ok",
		"/version":                              `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`,
		"/api":                                  `{"kind":"APIVersions","versions":["v1"]}`,
		"/api/v1":                               mapList,
		"/apis":                                 `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + awayGroup + `]}`,
		"/apis/GROUP":                           strings.Replace(awayGroup, "{", `{"kind":"APIGroup","apiVersion":"v1",`, 1),
		"/apis/GROUP/v1":                        thingList,
		"/openapi/v3":                           `{"paths":{}}`,
		"/api/v1/namespaces/default/configmaps": `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`,
	}
	text, ok := known[strings.Replace(r.URL.Path, s.group, "GROUP", 1)]
	text = strings.ReplaceAll(text, "GROUP", s.group)
	switch {
	case strings.HasPrefix(r.URL.Path, "/apis/"+s.group+"/v1") && s.gone.Load():
		http.Error(w, "service unavailable", http.StatusServiceUnavailable) // as an API server says it
		return
	case r.URL.Query().Has("watch"):
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	case r.Method == http.MethodPatch:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`
	case !ok:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		resource, name := "configmaps", r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"kind":"` + resource + `","name":"` + name + `"}}`
	default:
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = w.Write([]byte(text))
}

// goAway makes the aggregated API unreachable and clears the recorded requests.
func (s *away) goAway() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	s.gone.Store(true)
}

func (s *away) asked(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, seen := range s.seen {
		if strings.HasPrefix(seen, what) {
			n++
		}
	}
	return n
}

// If the server of a cached kind does not answer, only the objects of that kind are affected (edge
// case 20). Each of them is reported as unknown, with the reason, and every verb ends.
func TestUnreachableAggregatedAPI(t *testing.T) {
	const configMap = "/api/v1/namespaces/default/configmaps"
	for name, test := range map[string]struct {
		args string
		// asks is a request for an object that does not depend on the aggregated API.
		asks string
	}{
		"apply":  {args: "apply -f set.yaml", asks: "PATCH " + configMap},
		"diff":   {args: "diff -f set.yaml", asks: "PATCH " + configMap},
		"delete": {args: "delete -f set.yaml --timeout=1s", asks: "GET " + configMap},
		"wait":   {args: "wait -f set.yaml --for=create --timeout=1s", asks: "GET " + configMap},
		"owners": {args: "owners things.GROUP/x"},
	} {
		for _, group := range []string{"away.example.com", "away.k8s.io"} { // For the latter, discovery relies on the cache.
			for _, cache := range []string{"warm", "cold"} {
				t.Run(name+", "+group+", "+cache, func(t *testing.T) {
					s := newAway(t, group)
					if cache == "warm" {
						if code, out, stderr := call(t, "diff", "-f", "set.yaml", "--server-timeout=300ms"); code == verb.ExitYes {
							t.Fatalf("%d\n%s%s", code, out, stderr)
						}
					}
					s.goAway()
					args := strings.Split(strings.ReplaceAll(test.args, "GROUP", group), " ")
					code, out, stderr := call(t, append(args, "-n", "default", "--server-timeout=300ms")...)
					s.mu.Lock()
					t.Logf("%d\n%s\n%s\n%v", code, out, stderr, s.seen)
					s.mu.Unlock()
					if code != verb.ExitUnknown {
						t.Errorf("exit status %d, want %d", code, verb.ExitUnknown)
					}
					if test.asks != "" && s.asked(test.asks) == 0 {
						t.Error("no request was sent for the object that does not depend on the aggregated API")
					}
					all := out + stderr
					if !strings.Contains(all, "."+group) || !strings.Contains(all, " returned 503") && !strings.Contains(all, "not answer") {
						t.Error("the unknown object is not reported with its reason")
					}
				})
			}
		}
	}
}
