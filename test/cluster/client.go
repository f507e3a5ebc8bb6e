package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// apiClient is the harness's own minimal API client.
type apiClient struct {
	url  string
	http *http.Client
}

func newAPIClient(config *rest.Config) (*apiClient, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &apiClient{url: config.Host, http: client}, nil
}

// get reads path and decodes the response into into, unless that is nil.
func (a *apiClient) get(ctx context.Context, path string, into any) error {
	return a.do(ctx, http.MethodGet, path, nil, into)
}

// CreateNamespace creates a namespace, much faster than kubectl would.
func (c *Cluster) CreateNamespace(ctx context.Context, name string) error {
	return c.client.create(ctx, "/api/v1/namespaces", map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	})
}

// DeleteNamespace deletes a namespace without waiting. Objects that one test leaves could affect
// another.
func (c *Cluster) DeleteNamespace(name string) {
	_ = c.client.do(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+name, nil, nil)
}

func (a *apiClient) create(ctx context.Context, path string, object any) error {
	return a.do(ctx, http.MethodPost, path, object, nil)
}

func (a *apiClient) do(ctx context.Context, method, path string, object, into any) error {
	var body bytes.Buffer
	if object != nil {
		if err := json.NewEncoder(&body).Encode(object); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, a.url+path, &body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(content))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(content, into)
}

func (a *apiClient) close() { a.http.CloseIdleConnections() }
