package discovery_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/discovery"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// crds is a server with CRDs. It serves their kinds only after a while.
type crds struct {
	// plural is the plural in the CRD of the kind in example.com/v1; empty if there is no such CRD.
	plural string
	// established and served are the times, from the start of the test, when the CRD is established
	// and when its kind is served; 0 means never.
	established, served time.Duration
	// refused is set if the server does not accept the names of the CRD.
	refused bool
	// unreadable is set if we may not read CRDs.
	unreadable bool
	// terminating is set if the CRD is being deleted.
	terminating bool
	// other contains further kinds that the group version already has.
	other []metav1.APIResource
	// versions are the versions of the CRD.
	versions []any
}

func (s crds) answer(began time.Time) func(int, *http.Request) (*http.Response, error) {
	const all = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	since := func(when time.Duration) bool { return when > 0 && time.Since(began) >= when }
	return func(_ int, req *http.Request) (*http.Response, error) {
		switch path := req.URL.Path; {
		case path == "/apis/example.com/v1":
			list := metav1.APIResourceList{TypeMeta: clienttest.ResourceList(), GroupVersion: "example.com/v1", APIResources: s.other}
			if since(s.served) {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: s.plural, Kind: "Gateway", Namespaced: true})
			}
			if len(list.APIResources) > 0 {
				return clienttest.Reply(http.StatusOK, list), nil
			}
		case strings.HasPrefix(path, all) && s.unreadable:
			return clienttest.Failure(http.StatusForbidden, metav1.StatusReasonForbidden, nil), nil
		case path == all:
			if !strings.Contains(req.Header.Get("Accept"), "as=Table") {
				panic("all definitions are asked for")
			}
			table := metav1.Table{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}}
			for _, name := range []string{"widgets.example.com", s.plural + ".example.com", "gateways.example.org"} {
				if !strings.HasPrefix(name, ".") {
					table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{name, "2026-01-01T00:00:00Z"}})
				}
			}
			return clienttest.Reply(http.StatusOK, table), nil
		case path == all+"/"+s.plural+".example.com":
			return clienttest.Reply(http.StatusOK, s.definition(since)), nil
		case strings.HasPrefix(path, all):
			return clienttest.Failure(http.StatusNotFound, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: path[len(all)+1:]}), nil
		}
		return clienttest.Discovered(req), nil
	}
}

func (s crds) definition(since func(time.Duration) bool) map[string]any {
	conditions := []any{}
	switch {
	case s.refused:
		conditions = append(conditions, map[string]any{"type": "NamesAccepted", "status": "False", "message": "taken"})
	case since(s.established):
		conditions = append(conditions, map[string]any{"type": "Established", "status": "True"})
	}
	metadata := map[string]any{"name": s.plural + ".example.com", "uid": "u"}
	if s.terminating {
		metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	if s.versions == nil {
		s.versions = []any{map[string]any{"name": "v1", "served": true}}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata,
		"spec":   map[string]any{"group": "example.com", "names": map[string]any{"kind": "Gateway"}, "versions": s.versions},
		"status": map[string]any{"conditions": conditions},
	}
}

// If another run has just applied the CRD of a kind, the kind will be served soon (edge case 18).
// The client waits for the kind only if something indicates that it will be served.
func TestUpcoming(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		crds
		found    bool
		from, to time.Duration // how long it takes
		reported bool
		refused  bool
	}{
		"served by now":                              {crds: crds{plural: "gateways", served: 1}, found: true},
		"established, not served":                    {crds: crds{plural: "gateways", established: 1, served: 3 * second}, found: true, from: 3 * second, to: 5 * second, reported: true},
		"yet to be established":                      {crds: crds{plural: "gateways", established: 15 * second, served: 20 * second}, found: true, from: 20 * second, to: 23 * second, reported: true},
		"plural that cannot be guessed":              {crds: crds{plural: "portals", established: 1, served: second}, found: true, from: second, to: 2 * second, reported: true},
		"never":                                      {crds: crds{plural: "gateways", established: 1}, from: 25 * second, to: 30 * second, reported: true},
		"its names are taken":                        {crds: crds{plural: "gateways", refused: true}, reported: true, refused: true},
		"not defined":                                {},
		"its definition is being deleted":            {crds: crds{plural: "gateways", established: 1, terminating: true}},
		"defined in another version":                 {crds: crds{plural: "gateways", established: 1, versions: []any{map[string]any{"name": "v2", "served": true}, map[string]any{"name": "v1", "served": false}}}},
		"definition not readable, soon served":       {crds: crds{plural: "gateways", unreadable: true, served: second}, found: true, from: second, to: 2 * second},
		"definition not readable, never served":      {crds: crds{unreadable: true}, from: second, to: 2 * second},
		"definition not readable, probably misspelt": {crds: crds{unreadable: true, other: []metav1.APIResource{{Name: "gateway", Kind: "Gatewai"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				time.Sleep(time.Nanosecond)
				c, f, _ := clienttest.New(t, tt.answer(began))
				reported := false
				gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gateway"}
				kind, err := c.Upcoming(t.Context(), gvk, func(definition string) {
					reported = true
					if definition != tt.plural+".example.com" {
						t.Errorf("reported %s", definition)
					}
				})
				took := time.Since(began).Truncate(time.Millisecond)
				if err == nil != tt.found || err != nil && !errors.As(err, new(*client.NoKindError)) || err == nil && kind.Resource != tt.plural {
					t.Errorf("kind %+v, error %v", kind, err)
				}
				if took < tt.from || took > tt.to {
					t.Errorf("it took %s, want %s to %s", took, tt.from, tt.to)
				}
				if reported != tt.reported {
					t.Errorf("reported a definition: %v", reported)
				}
				if n := f.Count("GET"); took == 0 && n > 4 {
					t.Errorf("%d requests, want at most 4 without a wait", n)
				}
				why := c.Unserved(t.Context(), gvk)
				if refused := errors.As(why, new(*discovery.NotEstablishedError)); refused != tt.refused {
					t.Errorf("wrong reason why the kind is not served: %v", why)
				}
			})
		})
	}
}

// A run with --server-timeout=0 does not wait for a CRD.
func TestUpcomingWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, _, _ := clienttest.NewFor(t, 0, crds{plural: "gateways", established: 1}.answer(began))
		gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gateway"}
		time.Sleep(time.Nanosecond)
		if _, err := c.Upcoming(t.Context(), gvk, func(string) {}); !errors.As(err, new(*client.NoKindError)) || time.Since(began) > time.Millisecond {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
	})
}

// An aggregated API in the set answers 503 until its Pods are ready, and the client keeps waiting
// (edge case 20).
func TestServedWaitsForAggregatedAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			switch {
			case req.URL.Path != "/apis/x.y/v1":
				return clienttest.Discovered(req), nil
			case time.Since(began) < 90*time.Second:
				return clienttest.Text(503, "text/plain", "service unavailable\n"), nil
			}
			return clienttest.Reply(200, metav1.APIResourceList{
				TypeMeta: clienttest.ResourceList(), GroupVersion: "x.y/v1",
				APIResources: []metav1.APIResource{{Name: "foos", Kind: "Foo", Verbs: []string{"patch"}}},
			}), nil
		})
		gvk := schema.GroupVersionKind{Group: "x.y", Version: "v1", Kind: "Foo"}
		if kind, err := c.Served(t.Context(), gvk, 5*time.Minute); err != nil || kind.Resource != "foos" {
			t.Errorf("after %s: %+v, %v", time.Since(began), kind, err)
		}
	})
}

// If it is unknown whether a kind is served, its objects may exist.
func TestExistsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) { return clienttest.Discovered(req), nil })
		dead := object.Ref{GVK: schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "NodeMetrics"}, Name: "a"}
		if there, err := c.Exists(t.Context(), dead); err == nil {
			t.Errorf("Exists returned %v for an unavailable group, want an error", there)
		}
		none := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Foo"}, Name: "a"}
		if there, err := c.Exists(t.Context(), none); err != nil || there {
			t.Errorf("Exists for a missing kind: got %v, %v", there, err)
		}
	})
}
