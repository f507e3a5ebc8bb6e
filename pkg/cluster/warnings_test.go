package cluster

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Edge case 34: each warning carries its object, whoever else asks at the moment.
func TestWarningsCarryTheirObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		c, _, says := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			resp := ok(req)
			resp.Header.Add("Warning", `299 - "old"`)
			resp.Header.Add("Warning", `299 - "about `+path.Base(req.URL.Path)+`"`)
			resp.Header.Add("Warning", `199 proxy "not the server's"`)
			return resp, nil
		})
		var wait sync.WaitGroup
		for i := range n {
			wait.Go(func() {
				u := newObject(configMaps, fmt.Sprint("a", i))
				for _, dry := range []bool{true, false} { // the same text twice is told once
					if _, err := c.Apply(t.Context(), configMaps, u, object.Write{Manager: "m", DryRun: dry}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		if len(says.warnings) != 2*n {
			t.Errorf("%d warnings, want two for each of %d objects", len(says.warnings), n)
		}
		for i := range n {
			ref := refTo(configMaps, fmt.Sprint("a", i))
			for _, text := range []string{"old", "about " + ref.Name} {
				if !slices.Contains(says.warnings, warning{ref, text}) {
					t.Errorf("%s: no %q", ref, text)
				}
			}
		}
	})
}

// What a list is warned of is said of each object that was looked for, as it
// would be had each been read by itself.
func TestWarningsOfAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			return reply(200, items(""), "Warning", `299 - "v1 is deprecated"`), nil
		})
		refs := manyRefs(worthList)
		c.Live(t.Context(), configMaps, refs, ignoreLive)
		var want []warning
		for _, ref := range refs {
			want = append(want, warning{ref, "v1 is deprecated"})
		}
		if diff := cmp.Diff(want, says.warnings, cmp.AllowUnexported(warning{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWarningWithoutObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			return reply(200, map[string]any{"gitVersion": "v1.36.0"}, "Warning", `299 - "soon over"`), nil
		})
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]warning{{object.Ref{}, "soon over"}}, says.warnings, cmp.AllowUnexported(warning{})); diff != "" {
			t.Error(diff)
		}
	})
}

// The webhook names the object, and we do. What it calls taken in a dry run nobody
// took: diff, and an apply that ends with the conflict, would say what is not true.
func TestWarningsOfTheWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			resp := ok(req)
			for _, text := range []string{
				"ConfigMap/prod/a: .data.a taken from x by m", "ConfigMap/prod/a: +7 more taken",
				"ConfigMap/prod/a: v1 is deprecated", "somebody's: no field is taken from anybody",
			} {
				resp.Header.Add("Warning", "299 - "+strconv.Quote(text))
			}
			return resp, nil
		})
		ref := refTo(configMaps, "a")
		write := func(dry bool) {
			t.Helper()
			if _, err := c.Apply(t.Context(), configMaps, newObject(configMaps, "a"), object.Write{Manager: "m", DryRun: dry}); err != nil {
				t.Fatal(err)
			}
		}
		write(true)
		want := []warning{{ref, "v1 is deprecated"}, {ref, "somebody's: no field is taken from anybody"}}
		if diff := cmp.Diff(want, says.warnings, cmp.AllowUnexported(warning{})); diff != "" {
			t.Errorf("dry run (-want +got):\n%s", diff)
		}
		write(false)
		want = append(want, warning{ref, ".data.a taken from x by m"}, warning{ref, "+7 more taken"})
		if diff := cmp.Diff(want, says.warnings, cmp.AllowUnexported(warning{})); diff != "" {
			t.Errorf("write (-want +got):\n%s", diff)
		}
	})
}

func TestWebhookNamesWhatIsInNoNamespace(t *testing.T) {
	ref := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: "prod"}
	if rest, ours := withoutName(ref, "Namespace/-/prod: .metadata.labels.a taken from x by m"); !ours || !isTakeover(rest) {
		t.Errorf("%q, %t", rest, ours)
	}
}
