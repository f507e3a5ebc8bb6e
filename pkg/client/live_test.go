package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// store serves lists, in pages, and single objects.
type store struct {
	names []string // sorted
	// refuse, if set, answers the requests for lists.
	refuse func() *http.Response
	// expired is how many times a list expires. token is what the server then returns to continue
	// the list.
	expired int
	token   string
	sizes   []int // of the pages that were read
}

func (s *store) answer(_ int, req *http.Request) (*http.Response, error) {
	if name := strings.TrimPrefix(req.URL.Path, "/api/v1/namespaces/prod/configmaps"); name != "" {
		if slices.Contains(s.names, name[1:]) {
			return clienttest.OK(req), nil
		}
		return clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "configmaps", Name: name[1:]}), nil
	}
	if s.refuse != nil {
		return s.refuse(), nil
	}
	query := req.URL.Query()
	from, _ := strconv.Atoi(query.Get("continue"))
	if from > 0 && s.expired > 0 {
		s.expired--
		return clienttest.Reply(410, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, ListMeta: metav1.ListMeta{Continue: s.token},
			Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired,
		}), nil
	}
	end := len(s.names)
	meta := map[string]any{"resourceVersion": "1"}
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && from+limit < end {
		end = from + limit
		meta = map[string]any{"resourceVersion": "1", "continue": strconv.Itoa(end), "remainingItemCount": len(s.names) - end}
	}
	s.sizes = append(s.sizes, end-from)
	items := []any{}
	for _, name := range s.names[from:end] {
		items = append(items, map[string]any{
			"metadata": map[string]any{"name": name, "namespace": "prod", "uid": name}, "data": map[string]any{"n": "1"},
		})
	}
	return clienttest.Reply(200, map[string]any{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": items}), nil
}

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return out
}

func TestLive(t *testing.T) {
	forbidden := func() *http.Response { return clienttest.Failure(403, metav1.StatusReasonForbidden, nil) }
	tests := map[string]struct {
		there []string
		ask   int
		store store
		verbs []string
		// lists contains the size of each requested page. gets is the number of objects that were
		// read one by one.
		lists []int
		gets  int
	}{
		"none":                           {ask: 0},
		"few are read one by one":        {there: names("w", 3), ask: client.WorthList - 1, gets: client.WorthList - 1},
		"many are one list":              {there: names("w", 1000), ask: 1000, lists: []int{1000}},
		"a namespace with other objects": {there: append(names("a", 400), names("w", 50)...), ask: 60, lists: []int{450}},
		"the rest in the second page":    {there: append(names("a", 1100), names("w", 100)...), ask: 100, lists: []int{700, 500}},
		"all on the first page":          {there: append(names("w", 10), names("x", 900)...), ask: 10, lists: []int{520}},
		"far more others":                {there: slices.Concat(names("a", 999), names("b", 999), names("w", 10)), ask: 10, lists: []int{520}, gets: 10},
		"list is forbidden":              {there: names("w", 8), ask: 10, store: store{refuse: forbidden}, gets: 10},
		"list is not offered":            {there: names("w", 8), ask: 10, verbs: []string{"get"}, gets: 10},
		"list expires between two pages": {there: append(names("a", 700), names("w", 40)...), ask: 50, store: store{expired: 1}, lists: []int{600, 600, 140}},
		"list expires, and the server returns a new token": {
			there: append(names("a", 700), names("w", 40)...), ask: 50, store: store{expired: 1, token: "600"}, lists: []int{600, 140},
		},
		"list expires each time": {there: append(names("a", 700), names("w", 40)...), ask: 50, store: store{expired: 99}, lists: []int{600, 600, 740}},
		"empty namespace":        {ask: 20, lists: []int{0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := tt.store
				s.names = tt.there
				kind := clienttest.ConfigMaps()
				if tt.verbs != nil {
					kind.Verbs = tt.verbs
				}
				c, f, _ := clienttest.New(t, s.answer)
				refs := clienttest.ManyRefs(tt.ask)
				seen := map[int]int{}
				c.Live(t.Context(), kind, refs, func(i int, live *unstructured.Unstructured, err error) {
					seen[i]++
					there := slices.Contains(s.names, refs[i].Name)
					if err != nil || (live != nil) != there {
						t.Errorf("%s: live %v, error %v, want it there: %v", refs[i], live, err, there)
						return
					}
					if there && object.RefOf(live) != refs[i] {
						t.Errorf("asked for %s, got %s", refs[i], object.RefOf(live))
					}
				})
				for i := range refs {
					if seen[i] != 1 {
						t.Errorf("%s was visited %d times", refs[i], seen[i])
					}
				}
				if diff := cmp.Diff(tt.lists, s.sizes); diff != "" {
					t.Errorf("pages: %s", diff)
				}
				if n := f.Count("GET /api/v1/namespaces/prod/configmaps/"); n != tt.gets {
					t.Errorf("%d objects were read one by one, want %d", n, tt.gets)
				}
			})
		})
	}
}

// A cluster has many large CRDs, most of which a set does not need. Each needed CRD is read by a
// list of one name or, if we may not list, by a get.
func TestLiveDefinitions(t *testing.T) {
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	tests := map[string]struct {
		there, ask int
		forbidden  bool
		// heedless is set if a proxy removes field selectors from requests.
		heedless bool
		verbs    []string
		// concurrency, if set, limits the concurrent requests.
		concurrency int
		lists, gets int
	}{
		"one":                               {there: 100, ask: 1, lists: 1},
		"not there":                         {there: 2, ask: 3, lists: 3},
		"as many as are read separately":    {there: 100, ask: client.Apart, lists: client.Apart},
		"more":                              {there: 100, ask: client.Apart + 1, lists: 1},
		"list is forbidden":                 {there: 2, ask: 3, forbidden: true, lists: 3, gets: 3},
		"list is not offered":               {there: 2, ask: 3, verbs: []string{"get"}, gets: 3},
		"a proxy removes the selector":      {there: 100, ask: 3, heedless: true, lists: 3},
		"low concurrency, few definitions":  {there: 100, ask: client.WorthList - 1, concurrency: 2, lists: client.WorthList - 1},
		"low concurrency, many definitions": {there: 100, ask: client.WorthList, concurrency: 2, lists: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stored := func(name string) map[string]any {
					return map[string]any{
						"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
						"metadata": map[string]any{"name": name, "uid": name},
					}
				}
				there := names("w", tt.there)
				f := &clienttest.Fake{Answer: func(_ int, req *http.Request) (*http.Response, error) {
					if name, single := strings.CutPrefix(req.URL.Path, path+"/"); single {
						if !slices.Contains(there, name) {
							return clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: name}), nil
						}
						return clienttest.Reply(200, stored(name)), nil
					}
					if tt.forbidden {
						return clienttest.Failure(403, metav1.StatusReasonForbidden, nil), nil
					}
					only, selected := strings.CutPrefix(req.URL.Query().Get("fieldSelector"), "metadata.name=")
					items := []any{}
					for _, name := range there {
						if !selected || tt.heedless || name == only {
							items = append(items, stored(name))
						}
					}
					return clienttest.Reply(200, map[string]any{
						"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList",
						"metadata": map[string]any{"resourceVersion": "1"}, "items": items,
					}), nil
				}}
				c, err := client.New(new(clienttest.Reports).Options(client.Options{
					REST: &rest.Config{Host: "http://fake", Transport: f}, ServerTimeout: 30 * time.Second, Concurrency: tt.concurrency,
				}))
				if err != nil {
					t.Fatal(err)
				}
				kind := definitions
				if tt.verbs != nil {
					kind.Verbs = tt.verbs
				}
				var refs []object.Ref
				for _, name := range names("w", tt.ask) {
					refs = append(refs, object.Ref{GVK: kind.GVK, Name: name})
				}
				seen := map[int]int{}
				c.Live(t.Context(), kind, refs, func(i int, live *unstructured.Unstructured, err error) {
					seen[i]++
					if err != nil || (live != nil) != (i < tt.there) || live != nil && live.GetName() != refs[i].Name {
						t.Errorf("%s: live %v, error %v", refs[i], live, err)
					}
				})
				for i := range refs {
					if seen[i] != 1 {
						t.Errorf("%s was visited %d times", refs[i], seen[i])
					}
				}
				gets := f.Count("GET " + path + "/")
				if lists := f.Count("GET "+path) - gets; lists != tt.lists || gets != tt.gets {
					t.Errorf("%d lists and %d gets, want %d and %d", lists, gets, tt.lists, tt.gets)
				}
			})
		})
	}
}

// If the connection breaks during a list, the list is read again, and no object is visited twice.
func TestLiveWithABrokenList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store{names: names("w", 100)}
		c, f, _ := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
			resp, err := s.answer(n, req)
			if n == 1 && strings.HasSuffix(req.URL.Path, "/configmaps") {
				text, _ := io.ReadAll(resp.Body)
				resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(text[:len(text)/2])), clienttest.BrokenBody{Err: io.ErrUnexpectedEOF}))
			}
			return resp, err
		})
		seen := map[int]int{}
		c.Live(t.Context(), clienttest.ConfigMaps(), clienttest.ManyRefs(100), func(i int, live *unstructured.Unstructured, err error) {
			if seen[i]++; err != nil || live == nil || seen[i] > 1 {
				t.Errorf("%d: live %v, error %v, visit number %d", i, live, err, seen[i])
			}
		})
		if n := f.Count("GET /api/v1"); len(seen) != 100 || n != 2 {
			t.Errorf("visited %d objects by %d lists", len(seen), n)
		}
	})
}

func TestLiveErrors(t *testing.T) {
	tests := map[string]struct {
		answer   func() *http.Response
		is       func(error) bool
		requests int
	}{
		"kind is not served": {
			answer:   func() *http.Response { return clienttest.Text(404, "text/plain", "404 page not found") },
			is:       func(err error) bool { return errors.As(err, new(*client.NoKindError)) },
			requests: 3, // the others for whether it is known
		},
		"credentials": {
			answer:   func() *http.Response { return clienttest.Failure(401, metav1.StatusReasonUnauthorized, nil) },
			is:       func(err error) bool { return transport.StatusOf(err).Code == 401 },
			requests: 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					switch req.URL.Path {
					case "/apis":
						return clienttest.Discovered(req), nil
					case "/api":
						return clienttest.Groups(clienttest.Group("", clienttest.Serving("v1", "Pod", "pods"))), nil
					}
					return tt.answer(), nil
				})
				n := 0
				c.Live(t.Context(), clienttest.ConfigMaps(), clienttest.ManyRefs(20), func(_ int, live *unstructured.Unstructured, err error) {
					if n++; live != nil || !tt.is(err) {
						t.Errorf("live %v, error %v", live, err)
					}
				})
				if n != 20 || len(f.Requests) != tt.requests {
					t.Errorf("%d visits after %v", n, f.Requests)
				}
			})
		})
	}
}

// For a missing object, an aggregated API may answer 404 without details. The client checks once
// whether the kind is served, and does not conclude that it is not.
func TestTerseNotFound(t *testing.T) {
	for name, served := range map[string]bool{"the kind is served": true, "the kind is gone": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					if served && req.URL.Path == "/api/v1" {
						return clienttest.Reply(200, metav1.APIResourceList{TypeMeta: clienttest.ResourceList(), GroupVersion: "v1", APIResources: []metav1.APIResource{
							{Name: "configmaps", Kind: "ConfigMap", Namespaced: true},
						}}), nil
					}
					if req.URL.Path == "/apis" || req.URL.Path == "/api/v1" {
						return clienttest.Discovered(req), nil
					}
					return clienttest.Text(404, "text/plain", "404 page not found"), nil
				})
				const many = client.WorthList - 1
				c.Live(t.Context(), clienttest.ConfigMaps(), clienttest.ManyRefs(many), func(_ int, live *unstructured.Unstructured, err error) {
					if live != nil || (err == nil) != served || !served && !errors.As(err, new(*client.NoKindError)) {
						t.Errorf("live %v, error %v", live, err)
					}
				})
				if n := f.Count("GET /api/v1") - f.Count("GET /api/v1/"); n == 0 || n > many {
					t.Errorf("asked %d times for the kind", n)
				}
				before := f.Count("GET")
				if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")); err == nil || served && f.Count("GET") != before+1 {
					t.Errorf("error %v after %d more requests", err, f.Count("GET")-before)
				}
			})
		})
	}
}
