package e2etest

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// Audit reads the API server's audit log in sections.
type Audit struct {
	Cluster *cluster.Cluster
	marks   int
	offset  int64
	Events  []cluster.AuditEvent
}

// Mark sends a request and waits until it is in the log, which then also contains all earlier
// requests.
func (a *Audit) Mark(t *testing.T) (at int) {
	t.Helper()
	a.marks++
	uri := fmt.Sprintf("/version?mark=%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), a.marks)
	Kubectl(t, a.Cluster, "get", "--raw", uri)
	Until(t, "the mark is in the audit log", func() bool {
		events, next, err := a.Cluster.AuditEventsFrom(a.offset)
		if err != nil {
			t.Fatal(err)
		}
		a.offset, a.Events = next, append(a.Events, events...)
		return slices.ContainsFunc(events, func(e cluster.AuditEvent) bool { return e.RequestURI == uri })
	})
	return len(a.Events)
}

// Writes returns the objects, as RESOURCE/NAME, that the plugin wrote or dry-ran since a mark.
func (a *Audit) Writes(t *testing.T, from int) []string {
	t.Helper()
	var out []string
	for _, e := range a.Events[from:a.Mark(t)] {
		if e.User.Username != AuditUser || slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
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

// Reads returns the plugin's reads since a mark.
func (a *Audit) Reads(t *testing.T, from int) []*url.URL {
	t.Helper()
	var out []*url.URL
	for _, e := range a.Events[from:a.Mark(t)] {
		if e.User.Username != AuditUser || !slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
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

// AuditUser is the plugin's user, by which the audit log distinguishes its requests from those of
// controllers and kubectl.
const AuditUser = "story"
