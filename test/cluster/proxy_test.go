package cluster

import (
	"bufio"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// behind returns an HTTP proxy in front of a cluster, and an administrator's client that uses it.
func behind(t *testing.T, c *Cluster) (*proxy.HTTP, *apiClient) {
	t.Helper()
	p := must[*proxy.HTTP](t)(c.HTTPProxy())
	t.Cleanup(p.Close)
	path := must[string](t)(c.Kubeconfig(p.URL()))
	config := must[*rest.Config](t)(clientcmd.BuildConfigFromFlags("", path))
	client := must[*apiClient](t)(newAPIClient(config))
	t.Cleanup(client.close)
	return p, client
}

func configMap(name string) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

func TestHTTPProxyKeepsUsersApart(t *testing.T) {
	t.Parallel()
	c := small.Cluster(t)
	p, _ := behind(t, c)
	whoami := []string{"--server", p.URL(), "auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}"}

	alice := must[string](t)(c.KubeconfigFor("alice", "dev"))
	if got, want := mustKubectl(t, c, alice, whoami...), `alice ["dev","system:authenticated"]`; got != want {
		t.Errorf("alice is %s, want %s", got, want)
	}
	mustKubectl(t, c, c.KubeconfigPath, "create", "serviceaccount", "robot")
	config := must[*rest.Config](t)(c.RESTConfig())
	bare := &apiClient{url: p.URL(), http: must[*http.Client](t)(rest.HTTPClientFor(&rest.Config{
		BearerToken:     mustKubectl(t, c, c.KubeconfigPath, "create", "token", "robot"),
		TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData},
	}))}
	// The response to a forbidden request names the user.
	err := bare.get(t.Context(), "/api/v1/secrets", nil)
	if err == nil || !strings.Contains(err.Error(), `User \"system:serviceaccount:default:robot\" cannot list`) {
		t.Errorf("the service account's request: %v", err)
	}
}

func TestHTTPProxyIgnoresForgedIdentities(t *testing.T) {
	t.Parallel()
	c := small.Cluster(t)
	p, _ := behind(t, c)
	config := must[*rest.Config](t)(c.RESTConfig())
	client := must[*http.Client](t)(rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData}}))
	request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/api/v1/secrets", nil))
	request.Header.Set("X-Remote-User", "mallory")
	request.Header.Set("X-Remote-Group", "system:masters")
	response := must[*http.Response](t)(client.Do(request))
	_ = response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("answer %s, want 403", response.Status)
	}
}

func TestHTTPProxyFaultWithRetryAfter(t *testing.T) {
	t.Parallel()
	c := small.Cluster(t)
	p, _ := behind(t, c)
	p.Fail(1, proxy.Path("POST", "/api/v1/namespaces/default/"), proxy.Fault{Status: 429, RetryAfter: time.Second})
	kubeconfig := must[string](t)(c.Kubeconfig(p.URL()))
	mustKubectl(t, c, kubeconfig, "create", "configmap", "patient") // the client retries
	if n := p.Count("POST", configMaps); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	var statuses []int
	for _, r := range p.Requests() {
		if r.Method == http.MethodPost {
			statuses = append(statuses, r.Status)
		}
	}
	if !slices.Equal(statuses, []int{429, 201}) {
		t.Errorf("statuses are %d, want 429 and 201", statuses)
	}
}

func TestHTTPProxyInjectsFaults(t *testing.T) {
	t.Parallel()
	p, client := behind(t, small.Cluster(t))
	for name, test := range map[string]struct {
		fault   proxy.Fault
		want    string
		created bool
	}{
		"unavailable": {fault: proxy.Fault{Status: 503}, want: `"reason":"ServiceUnavailable"`},
		"broken":      {fault: proxy.Fault{Status: 500, Message: "etcd is on holiday"}, want: "etcd is on holiday"},
		"no-answer":   {fault: proxy.Fault{}, want: "INTERNAL_ERROR"}, // an HTTP/2 stream reset
		"late":        {fault: proxy.Fault{Status: 504, Delay: time.Millisecond}, want: `"reason":"Timeout"`},
		"answer-lost": {fault: proxy.Fault{Status: 500, AnswerLost: true}, want: `"reason":"InternalError"`, created: true},
	} {
		p.Heal()
		p.Fail(-1, proxy.Path(http.MethodPost, configMaps), test.fault)
		err := client.create(t.Context(), configMaps, configMap(name))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
		if err := client.get(t.Context(), configMaps+"/"+name, nil); (err == nil) != test.created {
			t.Errorf("%s: created is %t, want %t: %v", name, err == nil, test.created, err)
		}
	}
}

func TestHTTPProxySpeaksHTTP2AndWatches(t *testing.T) {
	t.Parallel()
	p, client := behind(t, small.Cluster(t))
	watch := url.Values{"watch": {"1"}, "fieldSelector": {"metadata.name=watched"}}
	request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+configMaps+"?"+watch.Encode(), nil))
	response := must[*http.Response](t)(client.http.Do(request))
	defer response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Errorf("the proxy speaks %s", response.Proto)
	}
	events := bufio.NewScanner(response.Body)
	if err := client.create(t.Context(), configMaps, configMap("watched")); err != nil {
		t.Fatal(err)
	}
	if !events.Scan() || !strings.Contains(events.Text(), `"ADDED"`) {
		t.Errorf("event %q, %v", events.Text(), events.Err())
	}
}

func TestHTTPProxyWithoutServer(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{})
	p, client := behind(t, c)
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	err := client.get(t.Context(), configMaps, nil)
	if err == nil || !strings.Contains(err.Error(), "502") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("without a server: %v", err)
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := client.get(t.Context(), configMaps, nil); err != nil {
		t.Errorf("with a server: %v", err)
	}
	defer c.Stop() // closed again when the test ends, which is harmless
	if got := p.Requests()[0].Status; got != http.StatusBadGateway {
		t.Errorf("logged status is %d, want 502", got)
	}
}

func TestProxyInFrontOfAnAPIServer(t *testing.T) {
	t.Parallel()
	c := small.Cluster(t)
	p := must[*proxy.TCP](t)(proxy.NewTCP(c.URL))
	t.Cleanup(p.Close)
	p.SetRTT(10 * time.Millisecond)
	kubeconfig := must[string](t)(c.Kubeconfig(p.URL()))
	mustKubectl(t, c, kubeconfig, "get", "namespace", "default")
	if stats := p.Stats(); stats.Connections == 0 || stats.Sent == 0 || stats.Received == 0 {
		t.Errorf("stats are %+v", stats)
	}
}
