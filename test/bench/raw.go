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

// rawRequest is a request that the raw client makes as it finds it.
type rawRequest struct {
	Method string
	Path   string
	Until  string          `json:",omitempty"` // what a read waits for
	Pages  bool            `json:",omitempty"` // a list that is read page by page
	Body   json.RawMessage `json:",omitempty"`
}

// page is how many objects are in a page: as many as the plugin asks for.
const page = 1000

// These are the states that a read waits for.
const (
	untilGone        = "gone"
	untilEstablished = "established" // a definition
)

// wave are requests that are sent side by side. The next one waits for its answers.
type wave []rawRequest

// workers is how many requests the raw client has in flight: with 32 and with 64 it is
// fastest, for all works.
const workers = 32

// sendFile is the limit: a client that does nothing but send requests, over one HTTP/2
// connection, and read the answers to their end.
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
		MaxConnsPerHost:    1,    // or every worker makes one before the first is there
		DisableCompression: true, // it costs the server more than loopback
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
		// A list's metadata stands before its items: the page needs no decoding.
		head, _, _ := bytes.Cut(answer, []byte(`"items":`))
		_, rest, ok := bytes.Cut(head, []byte(`"continue":"`))
		if !ok {
			return nil
		}
		next, _, _ := bytes.Cut(rest, []byte(`"`))
		token = string(next)
	}
}

// send makes a request, again while the server does not know its path: it serves a
// definition's objects a moment after it has accepted the definition.
func send(ctx context.Context, client *http.Client, host string, r rawRequest) error {
	const pause = 20 * time.Millisecond
	patience := time.Minute
	if r.Until == untilGone { // The server may forget a definition until it looks at all of them, every five minutes.
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

// met reports whether a successful answer is what the request waits for.
func (r rawRequest) met(answer []byte) bool {
	definition := &unstructured.Unstructured{}
	return r.Until == "" || r.Until == untilEstablished && definition.UnmarshalJSON(answer) == nil && isEstablished(definition)
}

// once returns the status and, if that is no success or something is waited for, the answer.
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
