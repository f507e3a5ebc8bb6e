package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// rawRequest is a prepared request of the raw client.
type rawRequest struct {
	Method string
	Path   string
	Until  string          `json:",omitempty"` // what a read waits for
	Pages  bool            `json:",omitempty"` // a list that is read page by page
	Body   json.RawMessage `json:",omitempty"`
}

// page is the size of a list's pages, the same as the plugin's.
const page = 1000

// States that a read waits for.
const (
	untilGone        = "gone"
	untilEstablished = "established" // a definition
)

// wave is a group of requests that are sent in parallel. The next wave starts after all its
// responses.
type wave []rawRequest

// workers is the number of parallel requests. The raw client is fastest with 32 to 64, for all
// works.
const workers = 32

// sendFile is the raw limit: a client that only sends prepared requests over one HTTP/2 connection,
// and reads the responses.
func sendFile(ctx context.Context, kubeconfig, path string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:    tls,
		ForceAttemptHTTP2:  true,
		MaxConnsPerHost:    1,    // otherwise every worker opens one before the first is ready
		DisableCompression: true, // compression costs the server more than loopback traffic
	}}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var waves []wave
	if err := json.Unmarshal(text, &waves); err != nil {
		return err
	}
	return sendWaves(ctx, client, config.Host, waves)
}

func sendWaves(ctx context.Context, client *http.Client, host string, waves []wave) error {
	for _, requests := range waves {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(workers)
		for _, r := range requests {
			group.Go(func() error {
				if r.Pages {
					return sendPages(ctx, client, host, r)
				}
				return send(ctx, client, host, r)
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// sendPages reads a list to its end.
func sendPages(ctx context.Context, client *http.Client, host string, r rawRequest) error {
	path := r.Path
	for token := ""; ; {
		r.Path = path + "?limit=" + strconv.Itoa(page) + "&continue=" + url.QueryEscape(token)
		status, answer, err := once(ctx, client, host, r)
		if err != nil {
			return err
		}
		if status >= http.StatusMultipleChoices {
			return fmt.Errorf("%s %s: %d: %s", r.Method, r.Path, status, answer)
		}
		// A list's metadata precedes its items, so the page need not be decoded.
		head, _, _ := bytes.Cut(answer, []byte(`"items":`))
		_, rest, ok := bytes.Cut(head, []byte(`"continue":"`))
		if !ok {
			return nil
		}
		next, _, _ := bytes.Cut(rest, []byte(`"`))
		token = string(next)
	}
}

// send sends a request, and repeats it while the server does not know its path: it serves a kind a
// moment after it has accepted the definition.
func send(ctx context.Context, client *http.Client, host string, r rawRequest) error {
	const pause = 20 * time.Millisecond
	patience := time.Minute
	if r.Until == untilGone { // The server may overlook a definition until its next full pass, every five minutes.
		patience = 6 * time.Minute
	}
	for start := time.Now(); ; time.Sleep(pause) {
		status, answer, err := once(ctx, client, host, r)
		found := status < http.StatusMultipleChoices
		switch {
		case err != nil:
			return err
		case r.Until == untilGone && status == http.StatusNotFound, found && r.met(answer):
			return nil
		case !found && status != http.StatusNotFound || time.Since(start) > patience:
			return fmt.Errorf("%s %s: %d: %s", r.Method, r.Path, status, answer)
		}
	}
}

// met reports whether a successful response shows the state that the request waits for.
func (r rawRequest) met(answer []byte) bool {
	definition := &unstructured.Unstructured{}
	return r.Until == "" || r.Until == untilEstablished && definition.UnmarshalJSON(answer) == nil && isEstablished(definition)
}

// once sends a request and returns the status. It returns the body only of failures and of requests
// that need it.
func once(ctx context.Context, client *http.Client, host string, r rawRequest) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, host+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Accept", "application/json")
	if r.Method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < http.StatusMultipleChoices && r.Until == "" && !r.Pages {
		_, err = io.Copy(io.Discard, response.Body)
		return response.StatusCode, nil, err
	}
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}
