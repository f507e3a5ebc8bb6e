package exclusive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

type api struct {
	http *http.Client
	url  string
}

func newAPI(t *testing.T, c *cluster.Cluster) *api {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &api{client, config.Host}
}

const (
	asJSON  = "application/json"
	asMerge = "application/merge-patch+json"
	asApply = "application/apply-patch+yaml"
)

// do sends a request as a manager. An error is a refusal.
func (a *api) do(t *testing.T, method, path, contentType, manager string, body any) (map[string]any, error) {
	t.Helper()
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	query := url.Values{"fieldManager": {manager}}
	if contentType == asApply {
		query.Set("force", "true")
	}
	if method == http.MethodGet || method == http.MethodDelete {
		query = nil
	}
	request, err := http.NewRequestWithContext(t.Context(), method, a.url+path+"?"+query.Encode(), &content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := a.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%d: %s", response.StatusCode, text)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("%d: %v", response.StatusCode, out["message"])
	}
	return out, nil
}

// at returns the address of an object.
func at(o map[string]any, namespace string, below ...string) string {
	apiVersion, kind := o["apiVersion"].(string), o["kind"].(string)
	path := "/api/"
	if strings.Contains(apiVersion, "/") {
		path = "/apis/"
	}
	return path + apiVersion + "/namespaces/" + namespace + "/" + strings.Join(append([]string{plurals[kind]}, below...), "/")
}

var plurals = map[string]string{
	"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets", "CronJob": "cronjobs",
	"ConfigMap": "configmaps", "Secret": "secrets", "Service": "services", "ServiceAccount": "serviceaccounts",
	"Role": "roles", "RoleBinding": "rolebindings", "NetworkPolicy": "networkpolicies", "PodDisruptionBudget": "poddisruptionbudgets",
	"Ingress": "ingresses", "HorizontalPodAutoscaler": "horizontalpodautoscalers", "Widget": "widgets",
}

// named returns a copy under another name and namespace.
func named(o map[string]any, namespace, name string) map[string]any {
	out := clone(o)
	meta := out["metadata"].(map[string]any)
	meta["name"], meta["namespace"] = name, namespace
	return out
}

func clone[T any](v T) T {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}
