package e2e_test

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// audit reads the API server's audit log in sections.
type audit struct {
	cluster *cluster.Cluster
	marks   int
	offset  int64
	events  []cluster.AuditEvent
}

// mark sends a request and waits until it is in the log, which then also contains all earlier
// requests.
func (a *audit) mark(t *testing.T) (at int) {
	t.Helper()
	a.marks++
	uri := fmt.Sprintf("/version?mark=%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), a.marks)
	kubectl(t, a.cluster, "get", "--raw", uri)
	until(t, "the mark is in the audit log", func() bool {
		events, next, err := a.cluster.AuditEventsFrom(a.offset)
		if err != nil {
			t.Fatal(err)
		}
		a.offset, a.events = next, append(a.events, events...)
		return slices.ContainsFunc(events, func(e cluster.AuditEvent) bool { return e.RequestURI == uri })
	})
	return len(a.events)
}

// writes returns the objects, as RESOURCE/NAME, that the plugin wrote or dry-ran since a mark.
func (a *audit) writes(t *testing.T, from int) []string {
	t.Helper()
	var out []string
	for _, e := range a.events[from:a.mark(t)] {
		if e.User.Username != auditUser || slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
			continue
		}
		uri, err := url.Parse(e.RequestURI)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(path.Base(uri.Path), "-k8sconnect-probe") // the dry run of a refused object
		out = append(out, path.Base(path.Dir(uri.Path))+"/"+name)
	}
	return out
}

// reads returns the plugin's reads since a mark.
func (a *audit) reads(t *testing.T, from int) []*url.URL {
	t.Helper()
	var out []*url.URL
	for _, e := range a.events[from:a.mark(t)] {
		if e.User.Username != auditUser || !slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
			continue
		}
		uri, err := url.Parse(e.RequestURI)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, uri)
	}
	return out
}
