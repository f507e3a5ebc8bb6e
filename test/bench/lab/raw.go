package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// RawRequest is a request that the raw client makes as it finds it. Those of a
// later wave wait for those of an earlier one.
type RawRequest struct {
	Wave   int
	Method string
	Path   string
	Until  string          `json:",omitempty"` // what a read waits for
	Pages  bool            `json:",omitempty"` // a list that is read page by page
	Body   json.RawMessage `json:",omitempty"`
}

// RawPage is how many objects are in a page: as many as the plugin asks for.
const RawPage = 1000

// The limit of a read.
const (
	untilGone        = "gone"
	untilEstablished = "established" // a definition
)

// WriteRequests writes requests to a file, for the raw client.
func WriteRequests(path string, requests []RawRequest) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	for _, request := range requests {
		if err := encoder.Encode(request); err != nil {
			return err
		}
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func readRequests(path string) ([]RawRequest, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var requests []RawRequest
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var request RawRequest
		switch err := decoder.Decode(&request); {
		case errors.Is(err, io.EOF):
			return requests, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		requests = append(requests, request)
	}
}

// Raw is the limit: a client that does nothing but send requests, that many at a time,
// over one HTTP/2 connection, and read the answers to their end.
func Raw(ctx context.Context, kubeconfig, path string, workers int) error {
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
	requests, err := readRequests(path)
	if err != nil {
		return err
	}
	return SendWaves(ctx, client, config.Host, requests, workers)
}

// SendWaves sends each wave when the one before has been answered.
func SendWaves(ctx context.Context, client *http.Client, host string, requests []RawRequest, workers int) error {
	for len(requests) > 0 {
		n := 0
		for n < len(requests) && requests[n].Wave == requests[0].Wave {
			n++
		}
		if err := sendAll(ctx, client, host, requests[:n], workers); err != nil {
			return err
		}
		requests = requests[n:]
	}
	return nil
}

func sendAll(ctx context.Context, client *http.Client, host string, requests []RawRequest, workers int) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(requests) {
					return nil
				}
				deliver := send
				if requests[i].Pages {
					deliver = sendPages
				}
				if err := deliver(ctx, client, host, requests[i]); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// sendPages reads a list to its end.
func sendPages(ctx context.Context, client *http.Client, host string, r RawRequest) error {
	path := r.Path
	for token := ""; ; {
		r.Path = path + "?limit=" + strconv.Itoa(RawPage) + "&continue=" + url.QueryEscape(token)
		status, answer, err := once(ctx, client, host, r)
		if err != nil {
			return err
		}
		if status >= http.StatusMultipleChoices {
			return fmt.Errorf("%s %s: %d: %s", r.Method, r.Path, status, answer)
		}
		if token = next(answer); token == "" {
			return nil
		}
	}
}

// next finds the token of the next page without decoding the page: a list's metadata
// stands before its items.
func next(page []byte) string {
	head, _, _ := bytes.Cut(page, []byte(`"items":`))
	_, rest, ok := bytes.Cut(head, []byte(`"continue":"`))
	if !ok {
		return ""
	}
	token, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(token)
}

// send makes a request, again while the server does not know its path: it
// serves a definition's objects a moment after it has accepted the definition.
func send(ctx context.Context, client *http.Client, host string, r RawRequest) error {
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
		case found && time.Since(start) < patience:
		case status != http.StatusNotFound || time.Since(start) > patience:
			return fmt.Errorf("%s %s: %d: %s", r.Method, r.Path, status, answer)
		}
	}
}

// met reports whether a successful answer is what the request waits for.
func (r RawRequest) met(answer []byte) bool {
	switch r.Until {
	case untilGone:
		return false
	case untilEstablished:
		definition := &unstructured.Unstructured{}
		return definition.UnmarshalJSON(answer) == nil && IsEstablished(definition)
	}
	return true
}

// once returns the status and, if that is no success or something is waited for, the answer.
func once(ctx context.Context, client *http.Client, host string, r RawRequest) (int, []byte, error) {
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
