package e2e_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Ctrl-C in the middle: the report shows which objects were applied and which were not. Some
// results are unknown, so the status is 2. The next run applies the rest.
func TestInterrupted(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	const later = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: later}\nspec: {containers: [{name: app, image: \"app:1\"}]}\n"
	set := e2etest.File(t, e2etest.ConfigMaps(100, 100, "1")+later)
	for format, want := range map[string][]string{
		"table":  {"created     99 ConfigMaps -n $NS", "skipped     configmap/cm-0050 -n $NS: its write was in progress, and may have succeeded", "skipped     pod/later", "99 created, 2 skipped"},
		"json":   {`"created": 99`, `"failed": 0`, `"skipped": 2`, "may have succeeded"},
		"name":   {"configmap/cm-0099"},
		"stream": {`"type":"finished","summary":{"created":99,"configured":0,"recreated":0,"shared":0,"unchanged":0,"conflict":0,"failed":0,"skipped":2`},
	} {
		t.Run(format, func(t *testing.T) {
			ns := e2etest.Namespace(t, c)
			p.Fail(-1, proxy.Path("PATCH", "/api/v1/namespaces/"+ns+"/configmaps/cm-0050"), proxy.Fault{Status: 503, Delay: time.Minute})
			r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", set, "-o", format)
			r.Until(t, "all but one are there", func() bool { return len(e2etest.UIDs(t, c, ns)) == 99 })
			r.Signal(t, syscall.SIGINT)
			r.Wait(t)
			r.Ends(t, 2).Says(t, "interrupt")
			for _, text := range want {
				r.Says(t, strings.ReplaceAll(text, "$NS", ns))
			}
			p.Heal()
			e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "2 created, 99 unchanged")
		})
	}
}

// A second Ctrl-C ends the run at once, even if a request hangs.
func TestInterruptedTwice(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	p.Fail(-1, func(*http.Request) bool { return true }, proxy.Fault{Delay: time.Minute})
	r := e2etest.Start(t, kubeconfig, "apply", "-n", "default", "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1")))
	r.Until(t, "it asks", func() bool { return len(p.Requests()) > 0 })
	r.Signal(t, syscall.SIGINT)
	time.Sleep(50 * time.Millisecond)
	_ = r.Cmd.Process.Signal(syscall.SIGINT) // may have ended already
	r.Wait(t)
	if code := r.Cmd.ProcessState.ExitCode(); code == 0 || code == 1 {
		t.Errorf("exit status %d: %s", code, r)
	}
}

// --timeout bounds the run: it starts no more writes, reports the results of those in progress and
// the remaining objects. Nothing was refused, so the status is 1.
func TestTimeout(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	const n = 60
	set := e2etest.File(t, e2etest.ConfigMaps(n, 1, "1"))
	// The start takes a varying time, so increase the timeout until some writes, but not all, were
	// sent.
	for timeout := 2 * time.Second; ; timeout *= 2 {
		ns := e2etest.Namespace(t, c)
		path := proxy.Path("PATCH", "/api/v1/namespaces/"+ns+"/configmaps/")
		p.Fail(-1, path, proxy.Fault{Delay: timeout / 2, Slow: true})
		before := p.Count("PATCH", "/api/v1/namespaces/"+ns)
		r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--timeout="+timeout.String(), "--concurrency=10", "-o", "json").Ends(t, 1)
		p.Heal()
		sent, there := p.Count("PATCH", "/api/v1/namespaces/"+ns)-before, len(e2etest.UIDs(t, c, ns))
		if sent == 0 && timeout < time.Minute {
			continue
		}
		out, unsure := r.Report(t), strings.Count(r.String(), "may have succeeded")
		created := out.Summary["created"]
		if sent == 0 || sent == n || created+unsure != sent || out.Summary["skipped"] != n-created || there < created || there > sent {
			t.Errorf("%d writes sent, %d objects there, %d unsure, summary %v", sent, there, unsure, out.Summary)
		}
		r.Says(t, "the run timed out after "+timeout.String()+" (--timeout)").Says(t, "run this again: it continues where it stopped")
		e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--timeout=10m").Ends(t, 0)
		if there := len(e2etest.UIDs(t, c, ns)); there != n {
			t.Errorf("%d objects, want %d", there, n)
		}
		return
	}
}
