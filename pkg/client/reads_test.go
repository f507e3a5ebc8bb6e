package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

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
		return clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "configmaps", Name: of[len(of)-1]}), nil
	}
	return clienttest.Reply(200, content(of[0], of[2])), nil
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
	return clienttest.Reply(200, map[string]any{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": items})
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
			return clienttest.Failure(403, metav1.StatusReasonForbidden, nil)
		}
	}
	expired := func(n int) *http.Response {
		if n == 1 || n == 3 {
			return nil
		}
		return clienttest.Failure(410, metav1.StatusReasonExpired, nil)
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
				c, _, _ := clienttest.New(t, s.respond)
				var refs []object.Ref
				for n := range 120 {
					for i := range tt.ask {
						refs = append(refs, object.Ref{GVK: clienttest.ConfigMaps().GVK, Namespace: fmt.Sprintf("n%03d", n), Name: fmt.Sprint("w", i)})
					}
				}
				read := func() (pages, others int) {
					s.pages, s.others = 0, 0
					seen := map[int]int{}
					c.Live(t.Context(), clienttest.ConfigMaps(), refs, func(i int, live *unstructured.Unstructured, err error) {
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
	return clienttest.Reply(200, map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"name": "a"}})
}

func unauthorized(int) *http.Response {
	return clienttest.Failure(401, metav1.StatusReasonUnauthorized, nil)
}
