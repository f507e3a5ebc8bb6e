package e2e_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A run that adopts is killed before each of its requests in turn. The next run reports the same as
// a run that was not killed (edge cases 30, 36). This test uses built-in kinds; test/property uses
// random objects.
func TestAdoptionKilled(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	tests := map[string]struct {
		// kubectl applies before; if another manager edits the object by hand, we do.
		before, now, edit string
		args              []string
	}{
		"a migration": {
			before: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {same: a, other: a, gone: a}}`,
			now:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {same: a, other: b, more: c}}`,
		},
		"only the owner changes": {
			before: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {same: a}}`,
			now:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {same: a}}`,
		},
		"not valid until the adoption": {
			before: `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {selector: {a: a}, ports: [{name: http, port: 80}]}}`,
			now:    `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {selector: {a: b}, ports: [{name: http, port: 81}]}}`,
		},
		"by name": {
			before: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {same: a, other: a}}`,
			now:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {same: b, other: a}}`,
			edit:   `{"data":{"same":"b","other":"by hand","added":"by hand"}}`,
			args:   []string{"--adopt-from=kubectl-edit"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if name != "not valid until the adoption" { // test/property covers the other requests
				circle.Full(t)
			}
			install := func() string {
				ns := e2etest.Namespace(t, c)
				if tt.edit == "" {
					e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, tt.before))
					return ns
				}
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, tt.before)).Ends(t, 0)
				e2etest.Kubectl(t, c, "patch", "configmap/x", "-n", ns, "--field-manager=kubectl-edit", "-p", tt.edit)
				return ns
			}
			set := e2etest.File(t, tt.now)
			args := func(ns string) []string {
				return append([]string{"apply", "-n", ns, "-f", set, "-o", "json"}, tt.args...)
			}
			ns := install()
			var requests atomic.Int64
			p.Fail(-1, func(r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/namespaces/"+ns+"/") {
					requests.Add(1)
				}
				return false
			}, proxy.Fault{})
			want := reported(e2etest.Plugin(t, kubeconfig, args(ns)...).Ends(t, 0), ns)
			p.Heal()
			if !strings.Contains(want, `"adopted"`) {
				t.Fatalf("nothing is adopted: %s", want)
			}
			for _, at := range e2etest.SomeOf(int(requests.Load())) {
				n, ns := int64(at-1), install()
				var seen atomic.Int64
				p.Fail(1, func(r *http.Request) bool {
					return strings.Contains(r.URL.Path, "/namespaces/"+ns+"/") && seen.Add(1) == n+1
				}, proxy.Fault{Status: 500, Delay: time.Minute})
				r := e2etest.Start(t, kubeconfig, args(ns)...)
				e2etest.Until(t, "it is where it is to be killed", func() bool { return seen.Load() > n })
				r.Signal(t, syscall.SIGKILL)
				r.Wait(t)
				p.Heal()
				got := reported(e2etest.Plugin(t, kubeconfig, args(ns)...).Ends(t, 0), ns)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("killed before request %d of %d (-want +got):\n%s", n+1, requests.Load(), diff)
				}
			}
		})
	}
}

// reported is the content of a run's JSON report about objects, without their places in files and
// without times.
func reported(r *e2etest.Run, ns string) string {
	var out struct{ Objects []json.RawMessage }
	if err := json.Unmarshal(r.Stdout.Bytes(), &out); err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, o := range out.Objects {
		text.Write(o)
	}
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	return moment.ReplaceAllString(strings.ReplaceAll(text.String(), ns, "NS"), "TIME")
}

// A takeover that finds its own result after a version conflict, as if the write had arrived although the
// server refused it, does not report that nothing has changed.
func TestAdoptionFoundAfterAConflict(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))
	e2etest.Kubectl(t, c, "create", "-n", ns, "-f", set, "--field-manager=helm")
	e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), func() {
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "--adopt-from=helm").Ends(t, 0)
	})
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--adopt-from=helm").Ends(t, 0).Says(t, "1 shared").Says(t, "taken over from helm")
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "1 unchanged")
}
