package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// After a run that ran out of time, the next one continues with a single LIST, and writes nothing
// twice. A set adds the requests for its parent, lock and history, and a LIST of the members to
// find those to prune.
func TestContinueAfterTimeout(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	for name, args := range map[string][]string{"no set": nil, "a set": {"--apply-set=shop", "--prune"}} {
		t.Run(name, func(t *testing.T) { continued(t, c, p, kubeconfig, args) })
	}
}

func continued(t *testing.T, c *cluster.Cluster, p *proxy.HTTP, kubeconfig string, args []string) {
	const n = 40
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(n, 1, "1"))
	inside := "/api/v1/namespaces/" + ns + "/"
	configMaps := inside + "configmaps"
	// Half of the requests are never answered in time, so the run ends after the others.
	hangs := func(r *http.Request) bool {
		return r.Method == http.MethodPatch && regexp.MustCompile(`/cm-00[23]`).MatchString(r.URL.Path) && strings.HasPrefix(r.URL.Path, configMaps)
	}
	p.Fail(-1, hangs, proxy.Fault{Status: 503, Delay: time.Minute})
	t.Cleanup(p.Heal)
	var there map[string]string
	for timeout := 6 * time.Second; len(there) == 0; timeout *= 2 { // a busy machine writes nothing in so short a time
		e2etest.Plugin(t, kubeconfig, append([]string{"apply", "-n", ns, "-f", set, "--timeout=" + timeout.String(), "-o", "json"}, args...)...).Ends(t, 1).
			Says(t, fmt.Sprintf("the run timed out after %s (--timeout)", timeout))
		there = e2etest.UIDs(t, c, ns)
	}
	p.Heal()
	if len(there) == n {
		t.Fatalf("all %d objects exist after the timeout, want some of them", n)
	}
	if len(args) > 0 {
		e2etest.Freed(t, c, ns) // an unanswered write holds the Lease for half a minute
	}
	from := len(p.Requests())
	e2etest.Plugin(t, kubeconfig, append([]string{"apply", "-n", ns, "-f", set}, args...)...).Ends(t, 0)
	var reads, again []string
	costs := map[string]int{} // requests for the set, by resource
	wrote, members := 0, 0
	for _, r := range p.Requests()[from:] {
		path, query, _ := strings.Cut(r.URI, "?")
		name, ours := strings.CutPrefix(path, configMaps)
		switch {
		case !ours && strings.HasPrefix(path, "/api/v1/namespaces/"+ns+"/secrets"), strings.Contains(path, "/namespaces/"+ns+"/leases"):
			what := regexp.MustCompile(`secrets/shop|secrets/applyset-|secrets|leases`).FindString(path)
			costs[r.Method+" "+what]++
		case !ours:
		case strings.Contains(query, "part-of"):
			members++
		case r.Method == http.MethodGet:
			reads = append(reads, r.URI)
		case !e2etest.IsWrite(r.Method, query):
			again = append(again, r.Method+" "+r.URI)
		default:
			wrote++
			if _, done := there[strings.TrimPrefix(name, "/")]; done {
				again = append(again, r.Method+" "+r.URI)
			}
		}
	}
	if len(reads) != 1 || wrote != n-len(there) || len(again) > 0 {
		t.Errorf("reads are %v, want one; %d writes for %d missing objects; repeated requests are %v", reads, wrote, n-len(there), again)
	}
	// Renewals of the lock are not counted, because their number depends on the duration of the
	// run.
	delete(costs, "PATCH leases")
	delete(costs, "PUT leases")
	var want map[string]int
	looks := 0
	if len(args) > 0 {
		want, looks = setCosts, 1
	}
	if !maps.Equal(costs, want) || members != looks {
		t.Errorf("the set costs %v, want %v; %d LISTs of the members, want %d", costs, want, members, looks)
	}
}

// setCosts are a set's requests in a run that continues an interrupted one: it reads the parent
// before it takes the lock, after that, and at the end; it lists the history, and writes its own
// record at the beginning and at the end.
var setCosts = map[string]int{
	"GET secrets/shop":        3,
	"GET leases":              1,
	"GET secrets":             2,
	"PATCH secrets/applyset-": 2,
}

// A run that will miss its deadline reports that early, with an estimate of how far it will get.
func TestTooLittleTime(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	// Writes are slow and sequential: no machine can finish a third of them in a minute.
	p.Fail(-1, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), proxy.Fault{Delay: 200 * time.Millisecond, Slow: true})
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1000, 1, "1")), "--concurrency=1", "--timeout=1m", "-o", "stream")
	forecast := regexp.MustCompile(`at this pace, about (\d+) of 1000 objects will be applied before --timeout expires in \d+s`)
	var message []string
	r.Until(t, "the run forecasts that it will not finish", func() bool {
		message = forecast.FindStringSubmatch(r.Stdout.String())
		return message != nil
	})
	if will, _ := strconv.Atoi(message[1]); will >= 333 {
		t.Errorf("%d objects were forecast, want fewer than 333", will)
	}
}

// All calls of a job share one run id: in the output, and at the start of each Audit-ID. No
// Audit-ID occurs twice.
func TestRunIDOfAJob(t *testing.T) {
	c := shared.Cluster(t)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(3, 1, "1"))
	id := "job-" + ns
	for _, args := range [][]string{
		{"apply", "-f", set, "-o", "json"}, {"apply", "-f", set, "-o", "json"}, {"wait", "-f", set, "-o", "json"}, {"delete", "-f", set, "-o", "json"},
	} {
		r := e2etest.Plugin(t, c.KubeconfigPath, append(args, "-n", ns, "--run-id="+id)...).Ends(t, 0)
		if got := r.Report(t).Run; got != id {
			t.Errorf("%s: run %q", args[0], got)
		}
	}
	events, err := c.AuditEvents()
	if err != nil {
		t.Fatal(err)
	}
	seen, verbs := map[string]string{}, map[string]bool{}
	for _, e := range events {
		if !strings.HasPrefix(e.AuditID, id+"-") {
			continue
		}
		request := e.Verb + " " + e.RequestURI // a watch has two events: its start and its end
		if other, twice := seen[e.AuditID]; twice && other != request {
			t.Errorf("Audit-ID %s is used by both %s and %s", e.AuditID, other, request)
		}
		seen[e.AuditID] = request
		verbs[e.UserAgent[strings.LastIndex(e.UserAgent, " ")+1:]] = true
	}
	if !verbs["apply"] || !verbs["wait"] || !verbs["delete"] {
		t.Errorf("%d requests of verbs %v", len(seen), verbs)
	}
}
