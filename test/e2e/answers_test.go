package e2e_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// wrongBodies are responses with status 200 that come from an intermediary and not from the API
// server.
func wrongBodies() map[string]string {
	const failed = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","details":{"name":"cm-0000","kind":"configmaps"},`
	return map[string]string{
		"nothing":         `{}`,
		"an empty list":   `{"items":[]}`,
		"another list":    `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`,
		"not found":       failed + `"reason":"NotFound","code":404}`,
		"forbidden":       failed + `"reason":"Forbidden","code":403}`,
		"success":         `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`,
		"no JSON":         `welcome`,
		"an echo":         `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"cm-0000"},"data":{"value":"1"}}`,
		"empty discovery": `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[]}`,
	}
}

// sick lists the requests that get wrong responses.
func sick(ns string) map[string]proxy.Match {
	objects := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/namespaces/"+ns+"/") }
	return map[string]proxy.Match{
		"everything": func(*http.Request) bool { return true },
		"objects":    objects,
		"writes":     func(r *http.Request) bool { return objects(r) && r.Method != http.MethodGet },
		"the rest":   func(r *http.Request) bool { return !objects(r) && r.URL.Path != "/readyz" },
	}
}

// claims are words for conclusions that a wrong response does not justify.
var claims = []string{
	`"action": "created"`, `"action": "configured"`, `"action": "unchanged"`, `"action": "deleted"`, `"action": "absent"`, `"action": "met"`,
}

// Edge case 85: an intermediary answers with status 200 and arbitrary content. No verb then reports
// that an object exists or is gone, was written, or was refused.
func TestWrongAnswers(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	there := e2etest.File(t, e2etest.ConfigMaps(8, 1, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", there).Ends(t, 0)
	absent := e2etest.File(t, strings.ReplaceAll(e2etest.ConfigMaps(8, 1, "1"), "cm-", "new-"))
	changed := e2etest.File(t, e2etest.ConfigMaps(8, 1, "2"))
	verbs := map[string][]string{
		"apply":             {"apply", "-f", absent},
		"apply, changed":    {"apply", "-f", changed},
		"diff":              {"diff", "-f", absent},
		"diff, changed":     {"diff", "-f", changed},
		"wait for delete":   {"wait", "cm/cm-0000", "--for=delete", "--timeout=3s"},
		"wait for create":   {"wait", "cm/cm-0000", "--for=create", "--timeout=3s"},
		"wait by labels":    {"wait", "cm", "-l", "app=x", "--for=delete", "--timeout=3s"},
		"delete":            {"delete", "-f", there},
		"delete, by name":   {"delete", "cm/cm-0000", "--ignore-not-found"},
		"delete, by labels": {"delete", "cm", "--all"},
		"stuck":             {"stuck", "cm/cm-0000"},
		"owners":            {"owners", "cm/cm-0000"},
	}
	for which, match := range sick(ns) {
		for verb, args := range verbs {
			if which == "writes" && args[0] != "apply" && args[0] != "delete" {
				continue // read-only
			}
			t.Run(verb+"/"+which, func(t *testing.T) {
				t.Parallel()
				p, kubeconfig := e2etest.Proxied(t, c)
				for range 20 { // sequential
					for what, body := range wrongBodies() {
						if what == "success" && which == "writes" && args[0] == "delete" {
							continue // a real server's response to a deletion
						}
						p.Fail(1, match, proxy.Fault{Status: http.StatusOK, Body: body})
					}
				}
				p.Fail(-1, match, proxy.Fault{Status: http.StatusOK, Body: `{}`})
				claimsNothing(t, p, kubeconfig, append(args, "-n", ns, "--server-timeout=1s"))
			})
		}
	}
	for _, verb := range []string{"apply", "wait for delete", "delete"} {
		for what, body := range wrongBodies() {
			t.Run(verb+"/"+what, func(t *testing.T) {
				t.Parallel()
				p, kubeconfig := e2etest.Proxied(t, c)
				p.Fail(-1, sick(ns)["objects"], proxy.Fault{Status: http.StatusOK, Body: body})
				claimsNothing(t, p, kubeconfig, append(verbs[verb], "-n", ns, "--server-timeout=1s"))
			})
		}
	}
}

// claimsNothing runs a verb that cannot get a valid response.
func claimsNothing(t *testing.T, p *proxy.HTTP, kubeconfig string, args []string) {
	t.Helper()
	if args[0] != "stuck" && args[0] != "owners" {
		args = append(args, "-o", "json")
	}
	r := e2etest.Start(t, kubeconfig, args...)
	if args[0] == "delete" { // it keeps trying, unless its earlier requests take too long
		e2etest.Until(t, "it asks", func() bool { return r.IsOver() || failed(p) > 2 })
		_ = r.Cmd.Process.Signal(syscall.SIGINT)
	}
	<-r.Over
	if status := r.Cmd.ProcessState.ExitCode(); status == 0 || status == 1 {
		t.Errorf("exit status 0 or 1 without a valid response: %s", r)
	}
	for _, claim := range claims {
		if strings.Contains(r.Stdout.String(), claim) {
			t.Errorf("output contains %s without a valid response: %s", claim, r)
		}
	}
}

// failed is the number of requests that the proxy has failed so far.
func failed(p *proxy.HTTP) int {
	n := 0
	for _, r := range p.Requests() {
		if r.Failed {
			n++
		}
	}
	return n
}

// A response may be cut in half and still look complete. The write may have been carried out, so
// the run reads the object again and reports its live state.
func TestTruncatedResponsesToWrites(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	p, kubeconfig := e2etest.Proxied(t, c)
	p.Fail(-1, func(r *http.Request) bool { return r.Method == http.MethodPatch }, proxy.Fault{Status: http.StatusOK, Half: true})
	set := e2etest.File(t, e2etest.ConfigMaps(13, 1, "1"))
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--server-timeout=2s").Ends(t, 0).Says(t, "13 created")
	p.Heal()
	p.Fail(-1, func(r *http.Request) bool { return r.Method == http.MethodGet }, proxy.Fault{Status: http.StatusOK, Half: true})
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--server-timeout=2s").Ends(t, 2)
	p.Heal()
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "13 unchanged")
}

// After a transient fault, the result is correct. Only the retries show that there was a fault.
func TestTransientWrongAnswers(t *testing.T) {
	c := shared.Cluster(t)
	for what, body := range wrongBodies() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ns := e2etest.Namespace(t, c)
			p, kubeconfig := e2etest.Proxied(t, c)
			objects := sick(ns)["objects"]
			set := e2etest.File(t, e2etest.ConfigMaps(8, 1, "1"))
			p.Fail(3, objects, proxy.Fault{Status: http.StatusOK, Body: body})
			e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "8 created")
			if n := strings.Count(e2etest.Kubectl(t, c, "get", "cm", "-n", ns, "-o", "name"), "cm-"); n != 8 {
				t.Errorf("%d objects are there, want 8", n)
			}
			p.Fail(3, objects, proxy.Fault{Status: http.StatusOK, Body: body})
			e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "-f", set).Ends(t, 0).Says(t, "8 deleted")
			if left := e2etest.Kubectl(t, c, "get", "cm", "-n", ns, "-o", "name"); strings.Contains(left, "cm-") {
				t.Errorf("reported as deleted, but still there: %s", left)
			}
		})
	}
}

// Edge case 85: an intermediary may return 404 for objects that the server lists. While an object
// exists, it is never reported as gone.
func TestContradictoryDiscovery(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	set := e2etest.File(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: core}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: grouped}
`)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0)
	at := func(path string) proxy.Match {
		return func(r *http.Request) bool { return r.URL.Path == path }
	}
	notFound := proxy.Fault{Status: http.StatusNotFound, Body: "404 page not found"}
	const core, leases = "/api/v1", "/apis/coordination.k8s.io/v1"
	lists := func(path string) proxy.Match {
		return func(r *http.Request) bool {
			return r.URL.Path == path || strings.HasPrefix(r.URL.Path, path+"/") && !isOfNamed(r)
		}
	}
	for name, match := range map[string]proxy.Match{
		"the version of a group":  at(leases),
		"a group and its objects": lists(leases),
		"the core group":          lists(core),
	} {
		for verb, args := range map[string][]string{
			"wait -f":                {"wait", "-f", set, "--for=delete", "--timeout=4s"},
			"wait without a timeout": {"wait", "-f", set, "--for=delete", "--timeout=0"},
			"wait by type":           {"wait", "cm/core", "lease/grouped", "--for=delete", "--timeout=4s"},
		} {
			t.Run(verb+"/"+name, func(t *testing.T) {
				t.Parallel()
				p, kubeconfig := e2etest.Proxied(t, c)
				p.Fail(-1, match, notFound)
				r := e2etest.Plugin(t, kubeconfig, append(args, "-n", ns, "--server-timeout=1s", "-o", "json", "--cache-dir", t.TempDir())...)
				gone := strings.Contains(r.Stdout.String(), `"action": "met"`) || strings.Contains(r.Stdout.String(), `"action": "absent"`)
				if r.Cmd.ProcessState.ExitCode() == 0 || gone {
					t.Errorf("existing objects are reported as gone: %s", r)
				}
			})
		}
	}
}

// isOfNamed reports whether a request is for a single object.
func isOfNamed(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/core") || strings.HasSuffix(r.URL.Path, "/grouped")
}

// If lists return 404, from the server or an intermediary, delete does not report objects as gone.
// It ends with --server-timeout, and reports what it could not read (edge case 85).
func TestDeleteWhenListsAreNotFound(t *testing.T) {
	c := shared.Cluster(t)
	const unfound = "the server could not find the requested resource"
	for name, tt := range map[string]struct {
		fault proxy.Fault
		says  string
	}{
		"from the API server": {proxy.Fault{Status: http.StatusNotFound, Message: unfound}, unfound},
		"from a proxy":        {proxy.Fault{Status: http.StatusNotFound, Body: "404 page not found\n"}, "it is listed among the kinds, but not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(3, 1, "1"))
			p, kubeconfig := e2etest.Proxied(t, c)
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0)
			p.Fail(-1, func(r *http.Request) bool {
				return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/namespaces/"+ns+"/configmaps")
			}, tt.fault)
			e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "-f", set, "--server-timeout=2s").Ends(t, 2).
				Says(t, "3 unknown").Says(t, tt.says)
			if n := len(e2etest.UIDs(t, c, ns)); n != 3 {
				t.Errorf("%d objects are left, want 3: objects that were not read must not be deleted", n)
			}
		})
	}
}
