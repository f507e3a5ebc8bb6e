package client

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// spread returns wanted objects: as many per namespace as given, in so many namespaces.
func spread(namespaces, each int) wanted {
	w := wanted{}
	for n := range namespaces {
		names := map[string]int{}
		for i := range each {
			names[fmt.Sprint("w", i)] = n*each + i
		}
		w[fmt.Sprint("n", n)] = names
	}
	return w
}

// The decision depends on how many requests it takes to read the objects by namespace, and on how
// many objects, of which size, are left in the list.
func TestNextPage(t *testing.T) {
	const none = -1 // The server does not count the rest.
	small := listed{firstPage, firstPage * 1000}
	for name, tt := range map[string]struct {
		wanted wanted
		read   listed
		left   int64
		want   int
	}{
		"one namespace":                             {spread(1, 5000), listed{}, 0, 0},
		"few objects":                               {spread(96, 1), listed{}, 0, 0},
		"few lists of many":                         {spread(96, 50), listed{}, 0, 0},
		"an object in each of many namespaces":      {spread(97, 1), listed{}, 0, firstPage},
		"many objects in each of many namespaces":   {spread(97, 50), listed{}, 0, firstPage},
		"five objects are five requests":            {spread(20, 5), listed{}, 0, firstPage},
		"six objects are one request":               {spread(20, 6), listed{}, 0, 0},
		"all are wanted":                            {spread(300, 1), small, 200, 4194},
		"1 in 20 is wanted":                         {spread(300, 1), small, 6000, 4194},
		"fewer are wanted":                          {spread(300, 1), small, 6001, 0},
		"1 in 100 is wanted":                        {spread(300, 1), small, 30_000, 0},
		"the same list, read with one per object":   {spread(1500, 1), small, 30_000, 4194},
		"all of a namespace are one request":        {spread(300, 20), small, 6000, 4194},
		"the server does not count":                 {spread(300, 1), small, none, 0},
		"large objects, all wanted":                 {spread(300, 1), listed{firstPage, firstPage * 60_000}, 200, firstPage},
		"large objects, of which 1 in 4 is wanted":  {spread(300, 1), listed{firstPage, firstPage * 60_000}, 1200, 0},
		"Helm releases of a megabyte":               {spread(300, 1), listed{firstPage, firstPage << 20}, 300, 0},
		"tiny objects":                              {spread(30_000, 1), listed{firstPage, firstPage}, 100_000, pageLimit},
		"the server's count is absurd":              {spread(300, 1), small, math.MaxInt64, 0},
		"few are left, and the list is nearly read": {spread(3, 1), small, 50, 4194},
	} {
		t.Run(name, func(t *testing.T) {
			var page metav1.ListMeta
			if tt.left != none {
				page.RemainingItemCount = &tt.left
			}
			if got := nextPage(tt.wanted, tt.read, page); got != tt.want {
				t.Errorf("a page of %d, want %d", got, tt.want)
			}
		})
	}
}

// cluster serves ConfigMaps of many namespaces, across all of them or of one.
type cluster struct {
	namespaces, each int
	// answer, if set, answers the n-th request for a list across all namespaces, unless it returns
	// nil.
	answer func(n int) *http.Response
	pages  int // of lists across all namespaces
	others int // requests
}

func (c *cluster) respond(_ int, req *http.Request) (*http.Response, error) {
	of := strings.Split(strings.TrimPrefix(req.URL.Path, "/api/v1/namespaces/"), "/") // NAMESPACE/configmaps/NAME
	switch {
	case req.URL.Path == "/api/v1/configmaps":
		c.pages++
		if c.answer != nil {
			if answer := c.answer(c.pages); answer != nil {
				return answer, nil
			}
		}
		return c.list(req, c.all()), nil
	case len(of) == 2:
		c.others++
		return c.list(req, slices.DeleteFunc(c.all(), func(at [2]string) bool { return at[0] != of[0] })), nil
	}
	c.others++
	i, err := strconv.Atoi(strings.TrimPrefix(of[len(of)-1], "w"))
	if err != nil || i >= c.each {
		return failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "configmaps", Name: of[len(of)-1]}), nil
	}
	return reply(200, content(of[0], of[2])), nil
}

// all returns the namespaces and names of the objects, in the server's order.
func (c *cluster) all() [][2]string {
	var all [][2]string
	for n := range c.namespaces {
		for i := range c.each {
			all = append(all, [2]string{fmt.Sprintf("n%03d", n), fmt.Sprint("w", i)})
		}
	}
	return all
}

func (c *cluster) list(req *http.Request, all [][2]string) *http.Response {
	from, _ := strconv.Atoi(req.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(req.URL.Query().Get("limit"))
	meta, end := map[string]any{"resourceVersion": "1"}, len(all)
	if limit > 0 && from+limit < end {
		end = from + limit
		meta["continue"], meta["remainingItemCount"] = strconv.Itoa(end), len(all)-end
	}
	items := []any{}
	for _, at := range all[from:end] {
		items = append(items, content(at[0], at[1]))
	}
	return reply(200, map[string]any{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": items})
}

func content(namespace, name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": namespace, "uid": namespace + name},
	}
}

// Objects in many namespaces are read with one list. If that list is refused, expires, or contains
// far more objects, the rest is read by namespace (edge cases 85 and 94). Each object is visited
// once, with its own content.
func TestLiveAcrossNamespaces(t *testing.T) {
	forbidden := func(from int) func(int) *http.Response {
		return func(n int) *http.Response {
			if n < from {
				return nil
			}
			return failure(403, metav1.StatusReasonForbidden, nil)
		}
	}
	expired := func(n int) *http.Response {
		if n == 1 || n == 3 {
			return nil
		}
		return failure(410, metav1.StatusReasonExpired, nil)
	}
	for name, tt := range map[string]struct {
		there cluster
		// ask is how many objects are wanted in each of 120 namespaces.
		ask int
		// pages and others are the requests of the first read.
		pages, others           int
		againPages, againOthers int
		failed                  bool
	}{
		"all are wanted":              {there: cluster{namespaces: 120, each: 3}, ask: 3, pages: 2, againPages: 2},
		"some are missing":            {there: cluster{namespaces: 120, each: 2}, ask: 4, pages: 2, againPages: 2},
		"a quarter is wanted":         {there: cluster{namespaces: 120, each: 12}, ask: 3, pages: 2, againPages: 2},
		"many in each namespace":      {there: cluster{namespaces: 120, each: 8}, ask: 8, pages: 2, againPages: 2},
		"nothing is there":            {ask: 2, pages: 1, againPages: 1},
		"1 in 100 is wanted":          {there: cluster{namespaces: 120, each: 100}, ask: 1, pages: 1, others: 119, againOthers: 120},
		"list is forbidden":           {there: cluster{namespaces: 120, each: 3, answer: forbidden(1)}, ask: 3, pages: 1, others: 360, againOthers: 360},
		"second page is forbidden":    {there: cluster{namespaces: 120, each: 3, answer: forbidden(2)}, ask: 3, pages: 2, others: 260, againOthers: 360},
		"list keeps expiring":         {there: cluster{namespaces: 120, each: 3, answer: expired}, ask: 3, pages: 5, others: 260, againPages: 5, againOthers: 260},
		"the answer is not a list":    {there: cluster{namespaces: 120, each: 3, answer: notAList}, ask: 3, failed: true},
		"server returns unauthorized": {there: cluster{namespaces: 120, each: 3, answer: unauthorized}, ask: 3, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &tt.there
				c, _, _ := newFake(t, s.respond)
				var refs []object.Ref
				for n := range 120 {
					for i := range tt.ask {
						refs = append(refs, object.Ref{GVK: configMaps.GVK, Namespace: fmt.Sprintf("n%03d", n), Name: fmt.Sprint("w", i)})
					}
				}
				read := func() (pages, others int) {
					s.pages, s.others = 0, 0
					seen := map[int]int{}
					c.Live(t.Context(), configMaps, refs, func(i int, live *unstructured.Unstructured, err error) {
						seen[i]++
						there := s.namespaces > 0 && i%tt.ask < s.each
						if (err != nil) != tt.failed || err == nil && (live != nil) != there || live != nil && object.RefOf(live) != refs[i] {
							t.Errorf("%s: live %v, error %v", refs[i], live, err)
						}
					})
					for i := range refs {
						if seen[i] != 1 {
							t.Errorf("%s was visited %d times", refs[i], seen[i])
						}
					}
					return s.pages, s.others
				}
				pages, others := read()
				againPages, againOthers := read()
				if got, want := []int{pages, others, againPages, againOthers}, []int{tt.pages, tt.others, tt.againPages, tt.againOthers}; !tt.failed && !slices.Equal(got, want) {
					t.Errorf("pages and other requests, and again: %v, want %v", got, want)
				}
			})
		})
	}
}

func notAList(int) *http.Response {
	return reply(200, map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"name": "a"}})
}

func unauthorized(int) *http.Response { return failure(401, metav1.StatusReasonUnauthorized, nil) }
