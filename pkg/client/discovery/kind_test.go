package discovery_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

func TestKind(t *testing.T) {
	metrics := schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "NodeMetrics"}
	tests := map[string]struct {
		gvk    schema.GroupVersionKind
		want   object.Kind
		absent bool
		dead   bool
	}{
		"of the core":        {gvk: clienttest.ConfigMaps().GVK, want: clienttest.ConfigMaps()},
		"of a group":         {gvk: deployments, want: object.Kind{GVK: deployments, Resource: "deployments", Namespaced: true, Verbs: []string{"get", "list", "watch", "patch"}}},
		"absent kind":        {gvk: deployments.GroupVersion().WithKind("Foo"), absent: true},
		"absent version":     {gvk: schema.GroupVersionKind{Group: "apps", Version: "v2", Kind: "Deployment"}, absent: true},
		"absent group":       {gvk: schema.GroupVersionKind{Group: "x.y", Version: "v1", Kind: "Foo"}, absent: true},
		"group that is down": {gvk: metrics, absent: true, dead: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) { return clienttest.Discovered(req), nil })
				for range 2 {
					got, err := c.Kind(t.Context(), tt.gvk)
					var none *client.NoKindError
					if errors.As(err, &none) != tt.absent || meta.IsNoMatchError(err) != tt.absent {
						t.Fatalf("error %v, want absent: %v", err, tt.absent)
					}
					if tt.absent && (none.GVK != tt.gvk || strings.Contains(none.Error(), "does not answer") != tt.dead || none.Hint() == "") {
						t.Errorf("error %#v", none)
					}
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Error(diff)
					}
				}
				if len(f.Requests) != 2 || len(says.Retries) != 0 {
					t.Errorf("asked %v, reported %v; want one question each to /api and /apis", f.Requests, says.Retries)
				}
				if !tt.absent {
					return
				}
				if err := c.Unserved(t.Context(), tt.gvk); errors.As(err, new(*client.KindUnknownError)) != tt.dead {
					t.Errorf("Unserved: got %v, want an KindUnknownError exactly if the group is down", err)
				}
			})
		})
	}
}

func TestKindIsRequestedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return clienttest.Discovered(req), nil
		})
		var wait sync.WaitGroup
		for range 20 {
			for _, gvk := range []schema.GroupVersionKind{clienttest.ConfigMaps().GVK, deployments} {
				wait.Go(func() {
					if _, err := c.Kind(t.Context(), gvk); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wait.Wait()
		if len(f.Requests) != 2 {
			t.Errorf("asked %v", f.Requests)
		}
	})
}

// diskServer is a server on a loopback address. The kinds that it serves can change.
type diskServer struct {
	*httptest.Server
	mu   sync.Mutex
	more []apidiscoveryv2.APIVersionDiscovery // in the group apps
	seen []string
}

func newDiskServer(t *testing.T) *diskServer {
	s := &diskServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, req.URL.Path)
		resp := clienttest.Discovered(req)
		if req.URL.Path == "/apis" && s.more != nil {
			resp = clienttest.Groups(clienttest.Group("apps", s.more...))
		}
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *diskServer) client(t *testing.T, cacheDir string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{REST: &rest.Config{Host: s.URL}, CacheDir: cacheDir})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *diskServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

func TestCacheOutOfDate(t *testing.T) {
	s, dir := newDiskServer(t), t.TempDir()
	if _, err := s.client(t, dir).Kind(t.Context(), deployments); err != nil {
		t.Fatal(err)
	}
	s.asked()
	foo := deployments.GroupVersion().WithKind("Foo")
	both := clienttest.Serving("v1", "Deployment", "deployments")
	both.Resources = append(both.Resources, clienttest.Serving("v1", "Foo", "foos").Resources...)
	s.mu.Lock()
	s.more = []apidiscoveryv2.APIVersionDiscovery{both}
	s.mu.Unlock()

	c := s.client(t, dir)
	if _, err := c.Kind(t.Context(), foo); err != nil {
		t.Errorf("a kind that came after the cache was filled: %v", err)
	}
	for _, kind := range []string{"Bar", "Baz"} {
		if _, err := c.Kind(t.Context(), deployments.GroupVersion().WithKind(kind)); !errors.As(err, new(*client.NoKindError)) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if asked := s.asked(); len(asked) != 2 {
		t.Errorf("asked %v, want the cache refreshed once", asked)
	}
	if _, err := s.client(t, dir).Kind(t.Context(), foo); err != nil {
		t.Error(err)
	}
	if asked := s.asked(); len(asked) != 0 {
		t.Errorf("asked %v, want the next run to use the cache", asked)
	}
}

// A custom kind in the cache may have been removed since (edge case 18), so the server is asked.
// For Kubernetes' own kinds, the cache is trusted.
func TestCachedCustomKindIsChecked(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	var mu sync.Mutex
	var seen []string
	served := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, req.URL.Path)
		resp := clienttest.Discovered(req)
		switch {
		case req.URL.Path == "/apis" && served:
			resp = clienttest.Groups(clienttest.Group("apps", clienttest.Serving("v1", "Deployment", "deployments")), clienttest.Group("example.com", clienttest.Serving("v1", "Widget", "widgets")))
		case req.URL.Path == "/apis/example.com/v1" && served:
			resp = clienttest.Reply(200, metav1.APIResourceList{TypeMeta: clienttest.ResourceList(), GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Namespaced: true}}})
		}
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	ask := func(gvk schema.GroupVersionKind) ([]string, error) {
		c, err := client.New(client.Options{REST: &rest.Config{Host: s.URL}, CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		seen = nil
		mu.Unlock()
		_, err = c.Kind(t.Context(), gvk)
		return seen, err
	}
	for range 2 {
		for _, gvk := range []schema.GroupVersionKind{widget, deployments} {
			if _, err := ask(gvk); err != nil {
				t.Fatal(err)
			}
		}
	}
	mu.Lock()
	served = false
	mu.Unlock()
	if asked, err := ask(widget); !errors.As(err, new(*client.NoKindError)) || len(asked) != 1 {
		t.Errorf("removed kind: %v; asked %v, want one request", err, asked)
	}
	if asked, err := ask(deployments); err != nil || len(asked) != 0 {
		t.Errorf("built-in kind: %v; asked %v, want the cache to be trusted", err, asked)
	}
}

// If there are several API servers, one may serve a kind that another does not serve yet (edge case
// 18).
func TestServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, f, _ := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
			switch {
			case strings.HasPrefix(req.URL.Path, "/apis/x.y/v1/"):
				if n == 1 {
					return clienttest.Text(404, "text/plain", "404 page not found"), nil
				}
				return clienttest.Reply(200, map[string]any{"apiVersion": "x.y/v1", "kind": "Foo", "metadata": map[string]any{"name": "a", "uid": "u"}}), nil
			case req.URL.Path == "/apis/x.y/v1" && time.Since(began) > 4*time.Second:
				return clienttest.Reply(200, metav1.APIResourceList{
					TypeMeta: clienttest.ResourceList(), GroupVersion: "x.y/v1",
					APIResources: []metav1.APIResource{
						{Name: "foos/status", Kind: "Foo"}, {Name: "foos", Kind: "Foo", Verbs: []string{"patch"}},
					},
				}), nil
			default:
				return clienttest.Discovered(req), nil
			}
		})
		gvk := schema.GroupVersionKind{Group: "x.y", Version: "v1", Kind: "Foo"}
		kind, err := c.Served(t.Context(), gvk, 0)
		if err != nil || kind.Resource != "foos" || kind.Namespaced {
			t.Fatalf("kind %+v, error %v", kind, err)
		}
		if n := f.Count("GET /apis/x.y/v1"); n > 15 {
			t.Errorf("asked %d times in 4s", n)
		}
		if again, err := c.Kind(t.Context(), gvk); err != nil || again.Resource != "foos" {
			t.Errorf("kind %+v, error %v; want the kind although the cache is out of date", again, err)
		}
		u := clienttest.NewObject(kind, "a")
		if _, err := c.Apply(t.Context(), kind, u, object.Write{Manager: "m"}); err != nil {
			t.Errorf("apply while one server lags: %v", err)
		}
	})
}

// A newly served kind is found at once, with one request for its group version.
func TestServedAsksForOneGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip, kinds = 100 * time.Millisecond, 6
		var resources []metav1.APIResource
		for n := range kinds {
			resources = append(resources, metav1.APIResource{Name: fmt.Sprintf("foo%ds", n), Kind: fmt.Sprintf("Foo%d", n)})
		}
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			time.Sleep(trip)
			if req.URL.Path == "/apis/x.y/v1" {
				return clienttest.Reply(200, metav1.APIResourceList{TypeMeta: clienttest.ResourceList(), GroupVersion: "x.y/v1", APIResources: resources}), nil
			}
			return clienttest.Discovered(req), nil
		})
		began := time.Now()
		var all sync.WaitGroup
		for n := range kinds {
			all.Go(func() {
				if _, err := c.Served(t.Context(), schema.GroupVersionKind{Group: "x.y", Version: "v1", Kind: fmt.Sprintf("Foo%d", n)}, 0); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > trip {
			t.Errorf("took %s, want one answer of %s", took, trip)
		}
		if n := f.Count("GET /apis/x.y/v1"); n != 1 {
			t.Errorf("%d requests for kinds of one group, want one shared request", n)
		}
		time.Sleep(time.Minute)
		if asked := f.Catalogues(); asked != nil {
			t.Errorf("unnecessary requests: %v", asked)
		}
	})
}

func TestNeverServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) { return clienttest.Discovered(req), nil })
		began := time.Now()
		gvk := schema.GroupVersionKind{Group: "x.y", Version: "v1", Kind: "Foo"}
		_, err := c.Served(t.Context(), gvk, 0)
		if took := time.Since(began); !errors.As(err, new(*client.NoKindError)) || took < 25*time.Second || took > 30*time.Second {
			t.Errorf("error %v after %s", err, took)
		}
		began = time.Now()
		_, err = c.Served(t.Context(), gvk, 5*time.Minute)
		if took := time.Since(began); !errors.As(err, new(*client.NoKindError)) || took < 295*time.Second || took > 5*time.Minute {
			t.Errorf("error %v after %s, want NoKindError after five minutes", err, took)
		}
	})
}

// The cache contains a kind that the server no longer serves.
func TestKindThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if strings.Contains(req.URL.Path, "/namespaces/") {
				return clienttest.Text(404, "text/plain", "404 page not found"), nil
			}
			return clienttest.Discovered(req), nil
		})
		_, err := c.Apply(t.Context(), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
		if !errors.As(err, new(*client.NoKindError)) || f.Count("PATCH") != 1 {
			t.Errorf("error %v after %d requests", err, f.Count("PATCH"))
		}
	})
}

// A kind was first served during this run, and is not found now. It may still exist, because one of
// several servers may lag.
func TestNewKindNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if strings.Contains(req.URL.Path, "/namespaces/") {
				return clienttest.Text(404, "text/plain", "404 page not found"), nil
			}
			return clienttest.Discovered(req), nil
		})
		c.Know(clienttest.ConfigMaps(), true)
		_, err := c.Apply(t.Context(), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
		var unreachable interface{ Unreachable() bool }
		if !errors.As(err, &unreachable) {
			t.Errorf("the error counts as a refusal: %v", err)
		}
	})
}

func TestHostFolder(t *testing.T) {
	dir := t.TempDir()
	s := newDiskServer(t)
	if _, err := s.client(t, dir).Kind(t.Context(), deployments); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "discovery", strings.ReplaceAll(strings.TrimPrefix(s.URL, "http://"), ":", "_"), "apps", "v1", "serverresources.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(text, &list); err != nil || len(list.APIResources) != 1 {
		t.Errorf("cached %s, error %v", text, err)
	}
}
