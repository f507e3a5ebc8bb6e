package lab

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRawSendsWavesOneAfterTheOther(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	unserved := 2
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/second") && unserved > 0 {
			unserved--
			http.NotFound(w, r)
			return
		}
		seen = append(seen, r.Method+" "+strings.TrimRight(r.URL.Path, "0123456789"))
	}))
	defer server.Close()

	var requests []RawRequest
	for i := range 20 {
		n := strconv.Itoa(i)
		requests = append(requests,
			RawRequest{Wave: 1, Method: http.MethodPatch, Path: "/second" + n, Body: []byte(`{}`)},
			RawRequest{Wave: 0, Method: http.MethodGet, Path: "/first" + n})
	}
	path := filepath.Join(t.TempDir(), "requests.json")
	if err := WriteRequests(path, InWaves(requests)); err != nil {
		t.Fatal(err)
	}
	read, err := readRequests(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := SendWaves(t.Context(), server.Client(), server.URL, read, 8); err != nil {
		t.Fatal(err)
	}
	var want []string
	for range 20 {
		want = append(want, "GET /first")
	}
	for range 20 {
		want = append(want, "PATCH /second")
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestRawReportsARefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such field", http.StatusUnprocessableEntity)
	}))
	defer server.Close()
	err := SendWaves(t.Context(), server.Client(), server.URL, []RawRequest{{Method: http.MethodPatch, Path: "/x"}}, 1)
	if err == nil || !strings.Contains(err.Error(), "422: no such field") {
		t.Errorf("got %v, want the server's refusal", err)
	}
}

func TestRawWaitsForWhatItReads(t *testing.T) {
	var answers []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answers[0]
		answers = answers[1:]
		if answer == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	const young = `{"apiVersion": "v1", "kind": "X"}`
	const established = `{"apiVersion": "v1", "kind": "X", "status": {"conditions": [{"type": "Established", "status": "True"}]}}`
	for until, sequence := range map[string][]string{
		untilGone:        {young, young, ""},
		untilEstablished: {"", young, established},
	} {
		answers = sequence
		err := SendWaves(t.Context(), server.Client(), server.URL, []RawRequest{{Method: http.MethodGet, Path: "/x", Until: until}}, 1)
		if err != nil || len(answers) > 0 {
			t.Errorf("%s: %v, and %d answers were not read", until, err, len(answers))
		}
	}
}
