package cli

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// sickKinds is the number of kinds of the sick server, each in a group of its own.
const sickKinds = 10

// newSick returns an API server that serves ConfigMaps and kinds of several groups, and always
// answers 503 to the paths that sick selects. asked counts these answers by path.
func newSick(t *testing.T, sick func(path string) bool) (asked func() map[string]int) {
	t.Helper()
	s := newAway(t, "away.k8s.io")
	known := map[string]string{}
	var all, set []string
	for i := range sickKinds {
		name := fmt.Sprintf("g%d.k8s.io", i) // as one of Kubernetes' own, which the cache is trusted for
		if i%2 == 0 {
			name = fmt.Sprintf("g%d.example.com", i)
		}
		all = append(all, strings.ReplaceAll(awayGroup, "GROUP", name))
		known["/apis/"+name+"/v1"] = strings.ReplaceAll(thingList, "GROUP", name)
		set = append(set, "apiVersion: "+name+"/v1\nkind: Thing\nmetadata: {name: x, namespace: default}\n")
	}
	known["/apis"] = `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join(all, ",") + `]}`
	write(t, "set.yaml", strings.Join(append(set, oneMap), "---\n"))
	counts := map[string]int{}
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch text := known[r.URL.Path]; {
		case sick(r.URL.Path):
			s.mu.Lock()
			counts[r.URL.Path]++
			s.mu.Unlock()
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","message":"sick","code":503}`))
		case text != "":
			_, _ = w.Write([]byte(text))
		default:
			s.ServeHTTP(w, r)
		}
	})
	return func() map[string]int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return maps.Clone(counts)
	}
}

// The plugin retries discovery once for the whole server, and not once for each kind, if the server
// keeps failing to list its kinds. The test counts answers, because the pauses between retries
// double. No message claims anything about kinds that the server did not list.
func TestFailingDiscovery(t *testing.T) {
	list := func(path string) bool { return path == "/api/v1" || strings.Count(path, "/") == 3 }
	for part, test := range map[string]struct {
		sick func(path string) bool
		// most is how often one path may be requested.
		most int
		// all means that no kind is known. One line then reports all kinds.
		all bool
	}{
		"everything":         {sick: func(path string) bool { return path == "/api" || path == "/apis" || list(path) }, most: 4, all: true},
		"api":                {sick: func(path string) bool { return path == "/api" }, most: 4, all: true},
		"apis":               {sick: func(path string) bool { return path == "/apis" }, most: 4, all: true},
		"one group":          {sick: func(path string) bool { return path == "/apis/g1.k8s.io/v1" }, most: 12},
		"all resource lists": {sick: list, most: 12},
	} {
		for _, args := range []string{
			"apply -f set.yaml", "apply -f set.yaml --apply-set=shop", "diff -f set.yaml", "delete -f set.yaml",
			"wait -f set.yaml --for=create --timeout=1s", "owners -f set.yaml", "owners -A", "sets", "sets shop",
			"give -f set.yaml --from=a --to=b", "stuck -A",
		} {
			if strings.HasPrefix(args, "wait") && !test.all {
				continue // It asks until its own --timeout is over.
			}
			t.Run(part+"/"+args, func(t *testing.T) {
				var asked func() map[string]int
				var code int
				var out, stderr, all string
				most := test.most
				for i, patience := range []string{"300ms", "3s"} { // A busy machine may not answer in the first.
					most *= i + 1 // The pauses double, so the second takes at most twice the requests.
					asked = newSick(t, test.sick)
					code, out, stderr = call(t, append(strings.Split(args, " "), "-n", "default", "--server-timeout="+patience)...)
					if all = out + stderr; !strings.Contains(all, "no answer in time") {
						break
					}
				}
				if code != verb.ExitUnknown && strings.Contains(args, "set.yaml") {
					t.Errorf("exit status %d, want %d", code, verb.ExitUnknown)
				}
				if message := strings.Count(all, "cannot find out which kinds the server serves"); test.all && message != 1 {
					t.Errorf("the reason is reported %d times", message)
				}
				if strings.Contains(all, "does not serve the kind Thing") {
					t.Error("the output says that a kind is not served")
				}
				for _, claim := range []string{"the API server does not answer", "the cluster no longer exists"} {
					if strings.Contains(all, claim) {
						t.Errorf("the server answers, but the output says %q", claim)
					}
				}
				for path, n := range asked() {
					if n > most {
						t.Errorf("%s was asked for %d times, want at most %d", path, n, most)
					}
				}
				if len(asked()) == 0 {
					t.Error("the server received no request")
				}
				if t.Failed() {
					t.Logf("%d\n%s\n%s\n%v", code, out, stderr, asked())
				}
			})
		}
	}
}

// The hint that the cluster may be gone is shown only for a server that does not answer.
func TestDeleteHintsAtAClusterThatIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		fail func(*testing.T, *away)
		gone bool
	}{
		"nothing listens": {func(_ *testing.T, s *away) { s.Close() }, true},
		"a load balancer without a server": {func(_ *testing.T, s *away) {
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "<html>no server is available</html>", http.StatusServiceUnavailable)
			})
		}, true},
		"every answer is 500": {answering(http.StatusInternalServerError, "InternalError"), false},
		"every answer is 503": {answering(http.StatusServiceUnavailable, "ServiceUnavailable"), false},
		"every answer is 429": {answering(http.StatusTooManyRequests, "TooManyRequests"), false},
		"every answer is {}":  {answering(http.StatusOK, ""), false},
		"login has expired":   {answering(http.StatusUnauthorized, "Unauthorized"), false},
	} {
		for _, args := range []string{"delete -f set.yaml", "delete configmap x"} {
			t.Run(name+"/"+args, func(t *testing.T) {
				s := newAway(t, "away.k8s.io")
				test.fail(t, s)
				code, out, stderr := call(t, append(strings.Split(args, " "), "-n", "default", "--timeout=1s", "--server-timeout=300ms")...)
				if code != verb.ExitUnknown {
					t.Errorf("exit status %d, want %d", code, verb.ExitUnknown)
				}
				if message := strings.Contains(out+stderr, "the cluster no longer exists"); message != test.gone {
					t.Errorf("hinted at a cluster that is gone: %v", message)
				}
				if t.Failed() {
					t.Logf("%d\n%s\n%s", code, out, stderr)
				}
			})
		}
	}
}

// answering lets the server give the same response to everything but health checks.
func answering(code int, reason string) func(*testing.T, *away) {
	return func(_ *testing.T, s *away) {
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/readyz":
				_, _ = w.Write([]byte("ok"))
				return
			case code == http.StatusOK:
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte("{}"))
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"sick","code":%d}`, reason, code)
		})
	}
}

// A server that answers a schema request with an error is not reported as unreachable. The server
// timeout bounds all answers together, so the 300 ms of other tests would be too short.
func TestFailingSchemaRequest(t *testing.T) {
	for _, args := range []string{"wait things/x --for=jsonpath={.spec.x}=y --timeout=1m", "wait -f set.yaml --for=jsonpath={.spec.x}=y --timeout=1m"} {
		t.Run(args, func(t *testing.T) {
			asked := newSick(t, func(path string) bool { return path == "/openapi/v3" })
			code, out, stderr := call(t, append(strings.Split(args, " "), "-n", "default", "--server-timeout=3s")...)
			all := strings.Join(strings.Fields(out+stderr), " ")
			if code != verb.ExitUnknown || !strings.Contains(all, "did not return the schema of Thing: it returned 503: sick") {
				t.Errorf("exit status %d, want %d and an error with the server's answer", code, verb.ExitUnknown)
			}
			for _, claim := range []string{"does not answer", "is reachable"} {
				if strings.Contains(all, claim) {
					t.Errorf("the server answers, but the output says %q", claim)
				}
			}
			if len(asked()) == 0 {
				t.Error("the server received no request")
			}
			if t.Failed() {
				t.Logf("%d\n%s\n%s\n%v", code, out, stderr, asked())
			}
		})
	}
}
