package discovery_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

var gadgets = schema.GroupVersionKind{Group: "x.y", Version: "v1", Kind: "Gadget"}

// gadget returns a list with the kind Gadget.
func gadget() *http.Response {
	return clienttest.Reply(200, metav1.APIResourceList{TypeMeta: clienttest.ResourceList(), GroupVersion: "x.y/v1", APIResources: []metav1.APIResource{
		{Name: "gadgets", SingularName: "gadget", Kind: "Gadget", Namespaced: true, Verbs: []string{"get", "list", "patch"}},
	}})
}

// onDisk returns a client whose cache is on disk, so that other clients can share it.
func onDisk(t *testing.T, dir string, answer func(n int, req *http.Request) (*http.Response, error)) (*client.Client, *clienttest.Fake, *clienttest.Reports) {
	t.Helper()
	f, says := &clienttest.Fake{Answer: answer}, &clienttest.Reports{}
	c, err := client.New(says.Options(client.Options{
		REST: &rest.Config{Host: "http://fake", Transport: f}, CacheDir: dir, ServerTimeout: 30 * time.Second,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return c, f, says
}

// If the cache is empty, or lacks a file, one round trip fills it. If a kind is missing, a recent
// answer is not requested again, because the set may define the kind.
func TestEmptyCacheCostsOneRoundTrip(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"cold": func(*testing.T, string) {},
		"without the file of a group": func(t *testing.T, dir string) {
			c, _, _ := onDisk(t, dir, func(_ int, req *http.Request) (*http.Response, error) { return clienttest.Discovered(req), nil })
			if _, err := c.Kind(t.Context(), deployments); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "discovery", "fake", "apps")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const trip = 100 * time.Millisecond
				dir := t.TempDir()
				prepare(t, dir)
				c, f, _ := onDisk(t, dir, func(_ int, req *http.Request) (*http.Response, error) {
					time.Sleep(trip)
					return clienttest.Discovered(req), nil
				})
				began := time.Now()
				if _, err := c.Kind(t.Context(), deployments); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Kind(t.Context(), gadgets); !errors.As(err, new(*client.NoKindError)) {
					t.Fatal(err)
				}
				if took := time.Since(began); took != trip {
					t.Errorf("took %s, want one round trip of %s", took, trip)
				}
				if asked := f.Catalogues(); !slices.Equal(asked, []string{"GET /api", "GET /apis"}) {
					t.Errorf("asked %v", asked)
				}
			})
		})
	}
}

// A run that has waited for kinds stores them in the cache, even if it fails later. kubectl can
// read the result. Other kinds in the cache stay.
func TestCacheAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		defined := false
		answer := func(_ int, req *http.Request) (*http.Response, error) {
			if defined && req.URL.Path == "/apis/x.y/v1" {
				return gadget(), nil
			}
			return clienttest.Discovered(req), nil
		}
		c, f, _ := onDisk(t, dir, answer)
		if _, err := c.Kind(t.Context(), gadgets); !errors.As(err, new(*client.NoKindError)) {
			t.Fatal(err)
		}
		defined = true
		began, ctx := time.Now(), t.Context()
		if _, err := c.Served(ctx, gadgets, 0); err != nil || time.Since(began) > 0 {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}

		next, seen, _ := onDisk(t, dir, answer) // at once, as if the run had been killed
		for _, want := range []object.Kind{
			{GVK: gadgets, Resource: "gadgets", Namespaced: true, Verbs: []string{"get", "list", "patch"}},
			{GVK: deployments, Resource: "deployments", Namespaced: true, Verbs: []string{"get", "list", "watch", "patch"}},
		} {
			kind, sure, err := next.Remembered(t.Context(), want.GVK)
			if err != nil || kind.Resource != want.Resource || sure != (want.GVK == deployments) {
				t.Errorf("%s: %+v, sure %v, %v", want.GVK.Kind, kind, sure, err)
			}
		}
		if kind, err := next.Kind(t.Context(), gadgets); err != nil || kind.Resource != "gadgets" {
			t.Errorf("%+v, %v", kind, err)
		}
		if asked := seen.Catalogues(); asked != nil {
			t.Errorf("the next run asks %v", asked)
		}
		if asked := f.Catalogues(); !slices.Equal(asked, []string{"GET /api", "GET /apis"}) {
			t.Errorf("requested %v, want only /api and /apis", asked)
		}
		config := &rest.Config{Host: "http://fake", Transport: &clienttest.Fake{Answer: func(_ int, req *http.Request) (*http.Response, error) {
			t.Errorf("kubectl asks %s", req.URL.Path)
			return clienttest.Discovered(req), nil
		}}}
		kubectl, err := disk.NewCachedDiscoveryClientForConfig(config, filepath.Join(dir, "discovery", "fake"), "", 6*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for gv, want := range map[string]string{"x.y/v1": "Gadget", "apps/v1": "Deployment", "v1": "ConfigMap"} {
			list, err := kubectl.ServerResourcesForGroupVersionWithContext(t.Context(), gv)
			if err != nil || len(list.APIResources) == 0 || list.APIResources[0].Kind != want {
				t.Errorf("kubectl read the kinds of %s as %v, %v", gv, list, err)
			}
		}
	})
}

// The files of our cache equal kubectl's byte for byte.
func TestCacheFilesEqualKubectlFiles(t *testing.T) {
	s, ours, kubectls := newDiskServer(t), t.TempDir(), t.TempDir()
	if _, err := s.client(t, ours).Kind(t.Context(), deployments); err != nil {
		t.Fatal(err)
	}
	folder := strings.ReplaceAll(strings.TrimPrefix(s.URL, "http://"), ":", "_")
	client, err := disk.NewCachedDiscoveryClientForConfig(&rest.Config{Host: s.URL}, filepath.Join(kubectls, "discovery", folder), "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := client.ServerGroupsAndResourcesWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, got := texts(t, filepath.Join(kubectls, "discovery")), texts(t, filepath.Join(ours, "discovery"))
	for name, text := range want {
		if strings.Contains(name, "serverresources") && len(text) == 0 {
			continue
		}
		if got[name] != text {
			t.Errorf("%s: %q, kubectl writes %q", name, got[name], text)
		}
	}
	if len(got) != len(want) || len(got) < 3 {
		t.Errorf("%d files, kubectl writes %d", len(got), len(want))
	}
}

func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
