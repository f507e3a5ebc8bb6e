package discovery_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// If a server never says what it serves, the run gives up once, regardless of the number and order
// of requests. No kind is reported as not served.
func TestFailingDiscovery(t *testing.T) {
	const groups, limit, most = 20, 30 * time.Second, 3 * 30 * time.Second
	list := func(path string) bool { return path == "/api/v1" || strings.Count(path, "/") == 3 }
	var all []string
	for i := range groups {
		all = append(all, sickGroup(i))
	}
	for part, sick := range map[string]func(string) bool{
		"everything":         func(path string) bool { return path == "/api" || path == "/apis" || list(path) },
		"/api":               func(path string) bool { return path == "/api" },
		"/apis":              func(path string) bool { return path == "/apis" },
		"one group":          func(path string) bool { return path == "/apis/g1.k8s.io/v1" },
		"all resource lists": list,
	} {
		for _, code := range []int{500, 503} {
			t.Run(fmt.Sprintf("%s/%d", part, code), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
						switch path := req.URL.Path; {
						case sick(path) && code == 500:
							return clienttest.Failure(500, metav1.StatusReasonInternalError, nil), nil
						case sick(path):
							return clienttest.Failure(503, metav1.StatusReasonServiceUnavailable, nil), nil
						}
						if message := clienttest.CatalogueOf(req.URL.Path, all...); message != nil {
							return message, nil
						}
						return clienttest.Failure(404, metav1.StatusReasonNotFound, nil), nil
					})
					began := time.Now()
					for i := range groups {
						gvk := schema.GroupVersionKind{Group: sickGroup(i), Version: "v1", Kind: "Thing"}
						isSick := part != "one group" || i == 1
						for name, ask := range map[string]func() error{
							"Kind":       func() error { _, err := c.Kind(t.Context(), gvk); return err },
							"Remembered": func() error { _, _, err := c.Remembered(t.Context(), gvk); return err },
							"Unserved": func() error {
								if !isSick {
									return nil
								}
								return c.Unserved(t.Context(), gvk)
							},
							"Elsewhere": func() error {
								_, err := c.Elsewhere(t.Context(), gvk)
								if part == "one group" || part == "all resource lists" {
									return nil // It is served in no other.
								}
								return err
							},
						} {
							err := ask()
							switch {
							case !isSick && err != nil:
								t.Errorf("%s of %s: %v", name, gvk, err)
							case isSick && name != "Elsewhere" && err == nil:
								t.Errorf("%s of %s: no error", name, gvk)
							case err != nil && strings.Contains(err.Error(), "serves no"):
								t.Errorf("%s of %s: the error claims that the kind is not served: %v", name, gvk, err)
							}
						}
					}
					if took := time.Since(began); took > most || took < limit/2 {
						t.Errorf("given up after %s, want about %s, at most %s", took, limit, most)
					}
				})
			})
		}
	}
}

// An answer about one group resets the shared patience. So a group that always fails does not
// shorten the retries for another group.
func TestBrieflyFailingGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked time.Time
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			switch path := req.URL.Path; {
			case path == "/readyz":
				return clienttest.Text(200, "text/plain", "ok"), nil
			case strings.HasPrefix(path, "/apis/moment.example.com/") && asked.IsZero():
				asked = time.Now()
				fallthrough
			case strings.HasPrefix(path, "/apis/moment.example.com/") && time.Since(asked) < 10*time.Second, strings.HasPrefix(path, "/apis/sick.example.com/"):
				return clienttest.Failure(503, metav1.StatusReasonServiceUnavailable, nil), nil
			case strings.HasPrefix(path, "/apis/"):
				return clienttest.Reply(200, metav1.APIResourceList{TypeMeta: clienttest.ResourceList(), GroupVersion: strings.TrimPrefix(path, "/apis/"), APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing"}}}), nil
			default:
				return clienttest.Discovered(req), nil
			}
		})
		ask := func(group string) error {
			_, err := c.Served(t.Context(), schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}, time.Second)
			return err
		}
		if err := ask("sick.example.com"); err == nil {
			t.Error("a failing group is reported as served")
		}
		if err := ask("well.example.com"); err != nil {
			t.Error(err)
		}
		if err := ask("moment.example.com"); err != nil {
			t.Errorf("%v, want success because the group fails only for 10s", err)
		}
	})
}

// sickGroup returns one of Kubernetes' own groups, for which the cache is trusted, or a custom
// group.
func sickGroup(i int) string { return fmt.Sprintf("g%d.%s", i, []string{"example.com", "k8s.io"}[i%2]) }
