package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// aggregated is a real API server behind another one, which serves its group by an APIService. It
// can be made to fail.
type aggregated struct {
	group string
	// fault responds in its place; nil if it is healthy.
	fault atomic.Pointer[http.HandlerFunc]
}

func (a *aggregated) breaks(fault http.HandlerFunc) { a.fault.Store(&fault) }

func (a *aggregated) isWell() { a.fault.Store(nil) }

// asAdmin forwards requests to a cluster as its administrator.
func asAdmin(t *testing.T, c *cluster.Cluster) *httputil.ReverseProxy {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, // watches
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
}

// aggregate makes c serve gadgets of another cluster, in their own group.
func aggregate(t *testing.T, c *cluster.Cluster) *aggregated {
	t.Helper()
	behind := cluster.ForTest(t, cluster.Options{})
	a := &aggregated{group: uniqueName() + ".example.com"}
	ask(t, behind, "apply", "-f", write(t, gadgets(a.group)))
	ask(t, behind, "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/gadgets."+a.group)
	proxy := asAdmin(t, behind)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := a.fault.Load(); fault != nil {
			(*fault)(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections) // watches do not end on their own
	if err := c.RouteService("default", "gadgets", server.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "apply", "-f", write(t, `apiVersion: v1
kind: Service
metadata: {name: gadgets, namespace: default}
spec: {ports: [{port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: gadgets, namespace: default, labels: {kubernetes.io/service-name: gadgets}}
ports: [{port: 443}]
endpoints: [{addresses: [192.0.2.1], conditions: {ready: true}}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.`+a.group+`}
spec: {group: `+a.group+`, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true,
  service: {namespace: default, name: gadgets}}
`))
	a.isServed(t, c)
	return a
}

// isServed waits until the API is available and in discovery, which lags behind.
func (a *aggregated) isServed(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ask(t, c, "wait", "--for=condition=Available", "--timeout=90s", "apiservice/v1."+a.group)
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		out, err := exec.CommandContext(t.Context(), c.Binary("kubectl"), "--kubeconfig", c.KubeconfigPath,
			"get", "gadgets."+a.group, "-n", "default").CombinedOutput()
		if err == nil {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("gadgets cannot be listed: %s", out)
		}
	}
}

// cutShort starts a JSON response, and closes the connection before its end.
func cutShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"kind":"Gadget","apiVersion":`))
	panic(http.ErrAbortHandler)
}

// Objects of an aggregated API work like all others: its own server, behind the first, has field
// managers and watches.
func TestServedAPI(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{}) // uses its own clusters
	a := aggregate(t, c)
	home := t.TempDir()
	set := write(t, gadget(a.group)+"spec: {size: 1, color: red}\n---\n"+configMap("default", "beside"))
	do := func(status int, says string, args ...string) {
		t.Helper()
		r := done(t, home, c.KubeconfigPath, status, args...)
		if out := r.stdout.String() + r.stderr.String(); !strings.Contains(out, says) {
			t.Errorf("output of %v is\n%s\nwant %q", args, out, says)
		}
	}
	do(0, "2 created", "apply", "-f", set)
	do(0, "unchanged", "apply", "-f", set)
	do(0, "", "diff", "-f", set)
	resized := write(t, gadget(a.group)+"spec: {size: 2, color: red}\n")
	do(1, "size", "diff", "-f", resized)
	do(0, "configured", "apply", "-f", resized)
	ask(t, c, "patch", "gadgets."+a.group, "one", "-n", "default", "--type=merge", "-p", `{"spec":{"size":3}}`, "--field-manager=scaler")
	do(1, "scaler", "apply", "-f", resized)
	do(0, "scaler", "owners", "gadgets."+a.group+"/one", "-n", "default")
	do(0, "", "wait", "gadgets."+a.group+"/one", "-n", "default", "--for=jsonpath={.spec.size}=3")

	gone := func(answer http.HandlerFunc) {
		t.Helper()
		a.breaks(answer)
		defer a.isWell()
		// A kind that cannot be read is not treated as gone, and blocks nothing else.
		do(2, "", "diff", "-f", set, "--server-timeout=1s")
		do(2, "unchanged", "apply", "-f", set, "--server-timeout=1s") // edge case 20
		do(2, "", "delete", "gadgets."+a.group+"/one", "-n", "default", "--server-timeout=1s", "--timeout=20s")
		r := start(t, home, c.KubeconfigPath, "wait", "gadgets."+a.group+"/one", "-n", "default", "--for=delete", "--server-timeout=1s", "--timeout=3s")
		if _ = r.Wait(); r.ProcessState.ExitCode() == 0 {
			t.Errorf("an object that cannot be read is reported as gone:\n%s", r.stdout.String())
		}
		do(0, "", "apply", "-f", write(t, configMap("default", "beside")))
	}
	for name, answer := range map[string]http.HandlerFunc{
		"503": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) },
		// Something else listens there, such as a proxy without a route to the API.
		"404":       http.NotFound,
		"cut":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut short": cutShort,
	} {
		t.Log(name)
		gone(answer)
		a.isServed(t, c)
	}
	do(0, "", "delete", "-f", set)
	if out := ask(t, c, "get", "gadgets."+a.group, "-n", "default", "-o", "name"); out != "" {
		t.Errorf("left: %s", out)
	}
}
