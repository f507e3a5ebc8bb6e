package cluster

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// backend is a TLS server on loopback with a certificate for a service.
func backend(t *testing.T, c *Cluster, service string, handler http.HandlerFunc) (address string) {
	t.Helper()
	pair := must[keyPair](t)(c.pki.ca.server(service, nil, service+".default.svc"))
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{must[tls.Certificate](t)(tls.X509KeyPair(pair.cert, pair.key))}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// service creates a service without pods but with an endpoint.
func service(t *testing.T, c *Cluster, name string) {
	t.Helper()
	create(t, c, "/api/v1/namespaces/default/services", object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name},
		"spec": object{"ports": []object{{"port": 443}}},
	})
	create(t, c, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", object{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
		"metadata":  object{"name": name, "labels": object{"kubernetes.io/service-name": name}},
		"ports":     []object{{"port": 443}},
		"endpoints": []object{{"addresses": []string{"192.0.2.1"}, "conditions": object{"ready": true}}},
	})
}

func create(t *testing.T, c *Cluster, path string, o object) {
	t.Helper()
	if err := c.client.create(t.Context(), path, o); err != nil {
		t.Fatal(err)
	}
}

func TestAggregatedAPI(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{})
	address := backend(t, c, "birds", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{
			"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "birds.example/v1",
			"resources": []object{}, "user": r.Header.Get("X-Remote-User"),
		})
	})
	service(t, c, "birds")
	if err := c.RouteService("default", "birds", address); err != nil {
		t.Fatal(err)
	}
	create(t, c, "/apis/apiregistration.k8s.io/v1/apiservices", object{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": object{"name": "v1.birds.example"},
		"spec": object{
			"group": "birds.example", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10,
			"service":  object{"namespace": "default", "name": "birds"},
			"caBundle": c.pki.ca.pair.cert,
		},
	})
	var answer struct{ GroupVersion, User string }
	eventually(t, "the aggregated API answers", func() bool {
		return c.client.get(t.Context(), "/apis/birds.example/v1", &answer) == nil
	})
	if answer.GroupVersion != "birds.example/v1" || answer.User != "kubernetes-admin" {
		t.Errorf("answer %+v", answer)
	}
}

func TestWebhooksByServiceAndURL(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{})
	deny := func(w http.ResponseWriter, r *http.Request) {
		var review struct{ Request struct{ UID string } }
		_ = json.NewDecoder(r.Body).Decode(&review)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": object{"uid": review.Request.UID, "allowed": false, "status": object{"message": "denied on loopback"}},
		})
	}
	service(t, c, "known")
	service(t, c, "unknown")
	known := backend(t, c, "known", deny)
	if err := c.RouteService("default", "known", known); err != nil {
		t.Fatal(err)
	}
	if err := c.RouteHost("far.default.svc:443", backend(t, c, "far", deny)); err != nil {
		t.Fatal(err)
	}
	byService := func(name string) object {
		return object{"service": object{"namespace": "default", "name": name}, "caBundle": c.pki.ca.pair.cert}
	}
	byURL := func(url string) object { return object{"url": url, "caBundle": c.pki.ca.pair.cert} }
	for name, test := range map[string]struct {
		client object
		want   string
	}{
		"known-service":   {byService("known"), "denied on loopback"},
		"unknown-service": {byService("unknown"), "failed calling webhook"},
		"known-host":      {byURL("https://far.default.svc/"), "denied on loopback"},
		"unknown-host":    {byURL("https://webhook.example/"), "failed calling webhook"},
		"unknown-address": {byURL("https://192.0.2.1:8443/"), "failed calling webhook"},
	} {
		create(t, c, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", object{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
			"metadata": object{"name": name},
			"webhooks": []object{{
				"name": name + ".example.com", "clientConfig": test.client, "sideEffects": "None",
				"admissionReviewVersions": []string{"v1"}, "timeoutSeconds": 30,
				"matchConditions": []object{{"name": "own", "expression": "object.metadata.name == '" + name + "'"}},
				"rules": []object{{
					"apiGroups": []string{""}, "apiVersions": []string{"v1"},
					"operations": []string{"CREATE"}, "resources": []string{"configmaps"},
				}},
			}},
		})
		eventually(t, "the webhook "+name+" is called", func() bool {
			err := c.client.create(t.Context(), configMaps+"?dryRun=All", configMap(name))
			if err == nil {
				return false // the API server does not know it yet
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "deadline") {
				t.Errorf("%s: %v, want %q", name, err, test.want)
			}
			return true
		})
	}
}

func TestRoutesLeadToLoopbackOnly(t *testing.T) {
	t.Parallel()
	c := small.Cluster(t)
	for _, address := range []string{"192.0.2.1:443", "webhook.example:443", "127.0.0.1", ""} {
		if err := c.RouteService("default", "x", address); err == nil {
			t.Errorf("a route to %q is accepted", address)
		}
	}
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true,
		"10.96.0.1:443": false, "[::]:1": false, "0.0.0.0:1": false, net.JoinHostPort("fe80::1", "1"): false,
	} {
		if got := isLoopback(address); got != want {
			t.Errorf("isLoopback(%q) is %t", address, got)
		}
	}
}
