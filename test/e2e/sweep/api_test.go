package sweep_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// api is a minimal client.
type api struct {
	http *http.Client
	url  string
}

// agent is the test's own User-Agent, by which the audit log tells its requests from the plugin's.
const agent = "sweep"

func newAPI(t *testing.T, c *cluster.Cluster) *api {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.UserAgent, config.QPS = agent, -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &api{http: client, url: config.Host}
}

// refusal is a response other than a success.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.code, r.text) }

func (a *api) do(t *testing.T, method, path, contentType string, body, into any) error {
	t.Helper()
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, a.url+path, &content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "application/json")
	response, err := a.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		var status struct{ Message string }
		_ = json.Unmarshal(text, &status)
		return &refusal{response.StatusCode, status.Message}
	}
	if into == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if m, ok := into.(*map[string]any); ok {
		*m = numbers(*m).(map[string]any)
	}
	return nil
}

func (a *api) get(t *testing.T, path string, into any) {
	t.Helper()
	if err := a.do(t, http.MethodGet, path, "", nil, into); err != nil {
		t.Fatal(path, err)
	}
}

// resource is a kind and its address.
type resource struct {
	apiVersion, kind, plural string
	namespaced               bool
	doc                      document
}

// at returns the address of the kind's objects, or of one of them.
func (r resource) at(namespace, name string) string {
	path := "/api/"
	if strings.Contains(r.apiVersion, "/") {
		path = "/apis/"
	}
	path += r.apiVersion
	if r.namespaced {
		path += "/namespaces/" + namespace
	}
	path += "/" + r.plural
	if name != "" {
		path += "/" + name
	}
	return path
}

// try applies an object in a dry run, as a client that is not the plugin.
func (a *api) try(t *testing.T, r resource, namespace string, object map[string]any) (map[string]any, error) {
	t.Helper()
	var answer map[string]any
	err := a.do(t, http.MethodPatch, r.at(namespace, nameOf(object))+"?dryRun=All&force=true&fieldManager=sweep&fieldValidation=Strict",
		"application/apply-patch+yaml", object, &answer)
	return answer, err
}

func (a *api) post(t *testing.T, r resource, namespace, manager string, object map[string]any) error {
	t.Helper()
	return a.do(t, http.MethodPost, r.at(namespace, "")+"?fieldValidation=Strict&fieldManager="+url.QueryEscape(manager), "application/json", object, nil)
}

func (a *api) applyAs(t *testing.T, r resource, namespace, manager string, object map[string]any) error {
	t.Helper()
	return a.do(t, http.MethodPatch, r.at(namespace, nameOf(object))+"?fieldValidation=Strict&fieldManager="+url.QueryEscape(manager), "application/apply-patch+yaml", object, nil)
}

// list returns the objects by name.
func (a *api) list(t *testing.T, r resource, namespace string) map[string]map[string]any {
	t.Helper()
	var list map[string]any
	a.get(t, r.at(namespace, ""), &list)
	out := map[string]map[string]any{}
	items, _ := list["items"].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			m["apiVersion"], m["kind"] = r.apiVersion, r.kind // a list's items lack them
			out[nameOf(m)] = m
		}
	}
	return out
}

// discover returns the kinds that can be created and patched.
func (a *api) discover(t *testing.T) []resource {
	t.Helper()
	var out []resource
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	a.get(t, "/openapi/v3", &index)
	for path, at := range index.Paths {
		version, ok := strings.CutPrefix(path, "apis/")
		if !ok {
			version, ok = strings.CutPrefix(path, "api/")
		}
		if !ok || strings.Contains(path, "apis/") && !strings.Contains(version, "/") {
			continue
		}
		var found struct {
			Resources []struct {
				Name, Kind string
				Namespaced bool
				Verbs      []string
			}
		}
		a.get(t, "/"+path, &found)
		var doc document
		a.get(t, at.URL, &doc)
		for _, r := range found.Resources {
			verbs := strings.Join(r.Verbs, " ")
			if strings.Contains(r.Name, "/") || !strings.Contains(verbs, "create") || !strings.Contains(verbs, "patch") {
				continue
			}
			out = append(out, resource{version, r.Kind, r.Name, r.Namespaced, doc})
		}
	}
	return out
}

func nameOf(object map[string]any) string {
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// numbers replaces json.Number by int64 or float64.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

// parallel calls f for each index.
func parallel(n int, f func(i int)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wait.Wait()
}
