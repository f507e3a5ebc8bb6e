package manifest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers is a server that gives the listed answers one after another, and then repeats the last.
// Status 0 means no answer.
type answers struct {
	status []int
	asked  int
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	status := a.status[min(a.asked, len(a.status)-1)]
	a.asked++
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	body := "an error page"
	if status == http.StatusOK {
		body = configMap("a")
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: r,
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

func TestURL(t *testing.T) {
	const url = "https://example.com/app.yaml"
	for name, tt := range map[string]struct {
		status  []int
		asked   int
		wantErr []string
	}{
		"at once":                    {[]int{200}, 1, nil},
		"success after retries":      {[]int{503, 0, 200}, 3, nil},
		"server keeps answering 503": {[]int{503}, 3, []string{url + ": the server returned Service Unavailable"}},
		"no answer":                  {[]int{0}, 3, []string{url + ": connection refused"}},
		"too many requests":          {[]int{429, 200}, 2, nil},
		"not found":                  {[]int{404}, 1, []string{url + ": the server returned Not Found"}},
		"without permission":         {[]int{401}, 1, []string{url + ": the server returned Unauthorized"}},
		"no content":                 {[]int{204}, 1, []string{url + ": the server returned No Content"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &answers{status: tt.status}
				res, err := Read(t.Context(), Options{Filenames: []string{url}, Client: &http.Client{Transport: server}})
				if diff := cmp.Diff(tt.wantErr, lines(err)); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
				if server.asked != tt.asked {
					t.Errorf("got %d requests, want %d", server.asked, tt.asked)
				}
				if err == nil && res.Objects[0].Source.String() != url+":1" {
					t.Errorf("source %s", res.Objects[0].Source)
				}
			})
		})
	}
}

// A URL may contain a password, a token or a signature. These must not appear in errors, reports
// and CI logs.
func TestURLIsShownWithoutItsSecrets(t *testing.T) {
	for url, want := range map[string]string{
		"https://example.com/app.yaml":                         "https://example.com/app.yaml",
		"https://me:secret@example.com/app.yaml":               "https://example.com/app.yaml",
		"https://secret@example.com/app.yaml":                  "https://example.com/app.yaml",
		"https://example.com/app.yaml?token=secret":            "https://example.com/app.yaml?***",
		"https://me:secret@example.com/a?X-Signature=secret&b": "https://example.com/a?***",
		"https://example.com/app.yaml#secret":                  "https://example.com/app.yaml",
		"https://me:se%cret@example.com/app.yaml":              "https://example.com/app.yaml",
		"https://me:secret@e@example.com/app.yaml":             "https://example.com/app.yaml",
	} {
		for _, status := range []int{200, 404, 0} {
			synctest.Test(t, func(t *testing.T) {
				res, err := Read(t.Context(), Options{Filenames: []string{url}, Client: &http.Client{Transport: &answers{status: []int{status}}}})
				message := strings.Join(lines(err), "\n")
				if err == nil {
					message = res.Objects[0].Source.String()
				}
				if !strings.HasPrefix(message, want+":") || strings.Contains(message, "secret") {
					t.Errorf("%s, status %d: got %q, want it without secrets, beginning with %s", url, status, message, want)
				}
			})
		}
	}
}

// Two URLs that differ only in masked parts are two inputs.
func TestURLsThatDifferInMaskedParts(t *testing.T) {
	server := &answers{status: []int{200}}
	names := []string{"https://example.com/get?file=a", "https://example.com/get?file=b", "https://example.com/get?file=a"}
	if _, err := Read(t.Context(), Options{Filenames: names, Client: &http.Client{Transport: server}}); err != nil || server.asked != 2 {
		t.Errorf("%v after %d requests, want 2", err, server.asked)
	}
}

func TestURLEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), fetchPause/2)
		defer cancel()
		server := &answers{status: []int{503}}
		_, err := Read(ctx, Options{Filenames: []string{"http://example.com/"}, Client: &http.Client{Transport: server}})
		if !errors.Is(err, context.DeadlineExceeded) || server.asked != 1 {
			t.Errorf("%v after %d requests", err, server.asked)
		}
	})
}

func TestURLOverTheNetwork(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/app.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, configMap("a")) })
	mux.Handle("/moved", http.RedirectHandler("/app.yaml", http.StatusFound))
	mux.Handle("/circle", http.RedirectHandler("/circle", http.StatusFound))
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!DOCTYPE html>\n<html>\n<title>log in: now</title>\n</html>\n")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	client := &http.Client{Timeout: time.Minute, Transport: server.Client().Transport}

	res, err := Read(t.Context(), Options{Filenames: []string{server.URL + "/moved"}, Client: client})
	if err != nil || len(res.Objects) != 1 {
		t.Errorf("redirect: %v, %d objects", err, len(res.Objects))
	}
	_, err = Read(t.Context(), Options{Filenames: []string{server.URL + "/page"}, Client: client})
	want := []string{server.URL + "/page:1: not a Kubernetes object but HTML or XML", "  --skip-non-objects skips such files"}
	if diff := cmp.Diff(want, lines(err)); diff != "" {
		t.Errorf("errors for an HTML page (-want +got):\n%s", diff)
	}
	_, err = Read(t.Context(), Options{Filenames: []string{"http://%"}})
	if diff := cmp.Diff([]string{"http://%: invalid URL escape \"%\""}, lines(err)); diff != "" {
		t.Errorf("errors for an invalid URL (-want +got):\n%s", diff)
	}
}
