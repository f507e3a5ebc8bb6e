package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fewText = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.bench.example.com}
spec:
  group: bench.example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions: [{name: v1, served: true, storage: true}]
---
apiVersion: bench.example.com/v1
kind: Thing
metadata: {name: one, annotations: {text: "{{ .Nothing }}"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
`

// few returns a plot with a definition, an object of its kind, and a namespace.
func few(t *testing.T) *plot {
	t.Helper()
	objects, err := decode([]byte(fewText))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sample{title: "few", objects: objects}.planned()
	if err != nil {
		t.Fatal(err)
	}
	return &plot{lab: &lab{dir: t.TempDir()}, sample: s, namespace: "here"}
}

func TestRawClientKeepsPluginOrder(t *testing.T) {
	const (
		definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.bench.example.com"
		thing      = "/apis/bench.example.com/v1/namespaces/here/things/one"
		other      = "/api/v1/namespaces/other"
	)
	p := few(t)
	for work, want := range map[string]string{
		workCreate: "PATCH " + definition + ", PATCH " + other + " | GET " + definition + " established | PATCH " + thing,
		workAgain:  "GET " + filepath.Dir(definition) + ", GET " + filepath.Dir(other) + ", GET " + filepath.Dir(thing),
		workDelete: "DELETE " + thing + " | DELETE " + definition + ", DELETE " + other + " | GET " + definition + " gone, GET " + other + " gone",
	} {
		waves, err := rawWaves(p, work)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range waves {
			var together []string
			for _, r := range w {
				path, _, _ := strings.Cut(r.Path, "?")
				together = append(together, strings.TrimSpace(r.Method+" "+path+" "+r.Until))
			}
			if len(w) > 0 {
				got = append(got, strings.Join(together, ", "))
			}
		}
		if got := strings.Join(got, " | "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", work, got, want)
		}
	}
}

func TestRawClientWritesOnlyChanges(t *testing.T) {
	s, err := generated(t.TempDir(), "ConfigMap", 100)
	if err != nil {
		t.Fatal(err)
	}
	p := &plot{sample: s, namespace: "here"}
	for work, want := range map[string]struct {
		writes          int
		method, written string
	}{
		workAgain:  {0, "", ""},
		workChange: {1, http.MethodPatch, "bench-00000"},
		workPrune:  {10, http.MethodDelete, "bench-00090"},
	} {
		waves, err := rawWaves(p, work)
		if err != nil || len(waves[0]) != 1 || len(waves[1]) != want.writes ||
			want.writes > 0 && (waves[1][0].Method != want.method || !strings.Contains(waves[1][0].Path, want.written)) {
			t.Errorf("%s: %v, %v", work, waves, err)
		}
	}
}

// A chart has the definitions in crds/, and does not render the other objects as templates.
func TestPeersGetTheSameObjects(t *testing.T) {
	p := few(t)
	argv, err := helmLine(p, "helm", workCreate)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(argv[:3], " "); got != "helm install bench" {
		t.Errorf("got %s", got)
	}
	file := func(parts ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{p.lab.dir}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := file("chart", "crds", "crds.yaml"); strings.Count(text, "---") != 1 || !strings.Contains(text, "things.bench.example.com") {
		t.Errorf("definitions: %s", text)
	}
	if text := file("chart", "objects.yaml"); strings.Count(text, "---") != 2 || !strings.Contains(text, "{{ .Nothing }}") {
		t.Errorf("objects: %s", text)
	}
	if argv, err = fluxLine(p, "flux", workAgain); err != nil || argv[1] != "apply" {
		t.Fatal(argv, err)
	}
	objects, err := decode([]byte(file("flux.yaml")))
	if err != nil || len(objects) != 3 {
		t.Fatal(len(objects), err)
	}
	for _, u := range objects {
		if want := map[string]string{"Thing": "here"}[u.GetKind()]; u.GetNamespace() != want {
			t.Errorf("%s is in %q, not in %q", u.GetKind(), u.GetNamespace(), want)
		}
	}
}

func TestRawSendsWavesInOrder(t *testing.T) {
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
	var want []string
	waves := make([]wave, 2)
	for i := range 20 {
		waves[0] = append(waves[0], rawRequest{Method: http.MethodGet, Path: "/first" + strconv.Itoa(i)})
		waves[1] = append(waves[1], rawRequest{Method: http.MethodPatch, Path: "/second" + strconv.Itoa(i), Body: []byte(`{}`)})
		want = append(want, "GET /first")
	}
	for range 20 {
		want = append(want, "PATCH /second")
	}
	if err := sendWaves(t.Context(), server.Client(), server.URL, waves); err != nil {
		t.Fatal(err)
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
	err := sendWaves(t.Context(), server.Client(), server.URL, []wave{{{Method: http.MethodPatch, Path: "/x"}}})
	if err == nil || !strings.Contains(err.Error(), "422: no such field") {
		t.Errorf("got %v, want the server's refusal", err)
	}
}

func TestRawPollsUntilTheAnswerIsComplete(t *testing.T) {
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
	const more = `{"kind":"List","metadata":{"continue":"next"},"items":[]}`
	for _, test := range []struct {
		r       rawRequest
		answers []string
	}{
		{rawRequest{Until: untilGone}, []string{young, young, ""}},
		{rawRequest{Until: untilEstablished}, []string{"", young, established}},
		{rawRequest{Pages: true}, []string{more, more, `{"kind":"List","metadata":{},"items":[]}`}},
	} {
		answers = test.answers
		test.r.Method, test.r.Path = http.MethodGet, "/x"
		err := sendWaves(t.Context(), server.Client(), server.URL, []wave{{test.r}})
		if err != nil || len(answers) > 0 {
			t.Errorf("%+v: %v, and %d answers were not read", test.r, err, len(answers))
		}
	}
}
