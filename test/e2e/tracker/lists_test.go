package tracker_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// Edge case 94: a list whose pages never end costs a handful of requests, and is then requested as
// a whole.
func TestEndlessLists(t *testing.T) {
	const (
		bad     = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no streams","reason":"BadRequest","code":400}`
		expired = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`
		again   = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1","continue":"again"},"items":[]}`
	)
	w := newWorld(t, shared.Cluster(t))
	w.claim(t, "a", "b")
	for name, next := range map[string]proxy.Fault{
		"always the same page": {Status: http.StatusOK, Body: again},
		"always expired":       {Status: http.StatusGone, Body: expired},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t, w, strings.ReplaceAll(name, " ", "-"))
			of := func(key, value string) proxy.Match {
				return func(r *http.Request) bool {
					return r.URL.Path == "/api/v1/configmaps" && strings.HasPrefix(r.URL.Query().Get(key), value) && r.URL.Query().Has(key)
				}
			}
			p.Fail(-1, of("sendInitialEvents", ""), proxy.Fault{Status: http.StatusBadRequest, Body: bad})
			p.Fail(-1, of("continue", ""), next)
			p.Fail(-1, of("limit", "500"), proxy.Fault{Status: http.StatusOK, Body: again})
			r := p.track(t, true, p.through)
			eventually(t, "told", func() bool {
				w.claim(t, "a")
				w.takeOver(t, "a")
				return contains(r.lines(), "ConfigMap/a")
			})
			lists := 0
			for _, request := range p.Requests() {
				if request.Failed && strings.HasPrefix(request.URI, "/api/v1/configmaps?") {
					lists++
				}
			}
			if lists < 3 || lists > 8 {
				t.Errorf("%d requests for an endless list, want 3 to 8", lists)
			}
		})
	}
}
