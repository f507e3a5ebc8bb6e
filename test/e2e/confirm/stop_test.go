package confirm_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// stoppedAt runs the plugin, holds its nth request back, and ends the run by a signal, or by its --timeout if
// the signal is 0.
func stoppedAt(t *testing.T, p *proxy.HTTP, kubeconfig string, nth int64, signal syscall.Signal, args ...string) *e2etest.Run {
	t.Helper()
	var seen atomic.Int64
	reached := make(chan struct{})
	p.Fail(-1, func(*http.Request) bool {
		if seen.Add(1) != nth {
			return false
		}
		close(reached)
		return true
	}, proxy.Fault{Status: http.StatusServiceUnavailable, Delay: 10 * time.Second})
	if signal == 0 {
		args = append(args, "--timeout=3s")
	}
	r := e2etest.Start(t, kubeconfig, args...)
	select {
	case <-reached:
		if signal != 0 {
			r.Signal(t, signal)
		}
	case <-r.Over:
	}
	r.Wait(t)
	p.Heal()
	return r
}

// A run that is interrupted, or out of time, at any of its requests can be finished. Its status is 0 only if
// the plan was applied, and each object is as before or as reviewed.
func TestConfirmStopped(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	random := e2etest.Randomly(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	first := newSmall(t, c)
	began := len(p.Requests())
	e2etest.Plugin(t, kubeconfig, first.confirm(first.plan)...).Ends(t, 0)
	requests := len(p.Requests()) - began
	for _, n := range random.Perm(requests)[:circle.Of(4, requests, requests)] {
		signal := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, 0}[random.IntN(3)]
		t.Run(fmt.Sprint(n+1, " ", signal), func(t *testing.T) {
			set := newSmall(t, c)
			r := stoppedAt(t, p, kubeconfig, int64(n+1), signal, set.confirm(set.plan)...)
			now := set.data(t)
			if r.Cmd.ProcessState.ExitCode() == 0 {
				set.isReviewed(t, r)
			}
			for name := range dataReviewed {
				gone := name == "r" && strings.Contains(r.Stdout.String(), "it does not exist now")
				if now[name] != dataBefore[name] && now[name] != dataReviewed[name] && !gone {
					t.Errorf("%s is %s: %s", name, now[name], r)
				}
			}
			set.finish(t)
		})
	}
}

// A quota that is full in the middle of a run, although each dry run fits, makes the run fail. Once the quota
// is larger, the plan is finished.
func TestConfirmQuota(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	set := []string{"-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(4, 1, "1"))}
	confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
	quota := func(secrets string) {
		e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {count/configmaps: "`+secrets+`"}}}`))
		e2etest.Until(t, "the quota counts", func() bool {
			return e2etest.Kubectl(t, c, "get", "resourcequota/q", "-n", ns, "-o", `jsonpath={.status.hard.count/configmaps} {.status.used.count/configmaps}`) == secrets+" 1"
		})
	}
	e2etest.Until(t, "the namespace has its first ConfigMap", func() bool {
		return e2etest.Kubectl(t, c, "get", "configmap", "-n", ns, "-o", "name") != ""
	})
	quota("3")
	r := e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 1).Says(t, "exceeded quota")
	if n := strings.Count(e2etest.Kubectl(t, c, "get", "configmap", "-n", ns, "-o", "name"), "cm-"); n != 2 {
		t.Errorf("%d ConfigMaps: %s", n, r)
	}
	e2etest.Kubectl(t, c, "delete", "resourcequota/q", "-n", ns)
	e2etest.Until(t, "the quota is gone", func() bool {
		return e2etest.KubectlCommand(t, c, "create", "configmap", "probe", "-n", ns, "--dry-run=server").Run() == nil
	})
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "continuing the plan: 2 of 4 objects already as reviewed")
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
}

// If an admission webhook comes between the diff and the run, the run applies what was reviewed, or nothing,
// or it says that the server has stored something else.
func TestConfirmWebhookBetween(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	random := e2etest.Randomly(t)
	for _, answer := range []string{"pass", "refuse", "drop", "change", "add"} {
		for _, dryRunsToo := range []bool{true, false} {
			if circle.Of(random.IntN(3) > 0, false, false) {
				continue
			}
			t.Run(fmt.Sprint(answer, " ", dryRunsToo), func(t *testing.T) {
				t.Parallel()
				set := newSmall(t, c)
				answerer(t, c, set.ns, answer, dryRunsToo)
				switch {
				case answer == "pass":
					set.finish(t)
				case answer == "add" && dryRunsToo: // like a new default: a plan shows only our fields
					e2etest.Plugin(t, c.KubeconfigPath, set.confirm(set.plan)...).Ends(t, 0)
					e2etest.Plugin(t, c.KubeconfigPath, set.confirm(set.plan)...).Ends(t, 0).Says(t, "nothing is left to do")
				case answer == "refuse" && dryRunsToo:
					set.refusedByDryRun(t)
				case dryRunsToo:
					set.refused(t, set.plan, "nothing was written")
				case answer == "refuse":
					e2etest.Plugin(t, c.KubeconfigPath, set.confirm(set.plan)...).Ends(t, 1).Says(t, "refused by the test")
				default:
					e2etest.Plugin(t, c.KubeconfigPath, set.confirm(set.plan)...).Ends(t, 1).Says(t, "written, but not as reviewed")
				}
				if answer != "refuse" {
					return
				}
				e2etest.Kubectl(t, c, "delete", "mutatingwebhookconfiguration", set.ns)
				e2etest.Until(t, "the API server does not call the webhook", func() bool {
					return e2etest.KubectlCommand(t, c, "create", "secret", "generic", "t", "-n", set.ns).Run() == nil
				})
				e2etest.Kubectl(t, c, "delete", "secret/t", "-n", set.ns)
				set.finish(t)
			})
		}
	}
}

// A writer that keeps changing other fields of the objects delays a confirmed run, but does not end it.
func TestConfirmBesideWriter(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	set := newSmall(t, c)
	done, over := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-done:
				over <- n
				return
			default:
			}
			for _, name := range []string{"cm/a", "cm/d", "secret/s"} {
				_ = e2etest.KubectlCommand(t, c, "label", name, "-n", set.ns, "--overwrite", fmt.Sprintf("n=v%d", n)).Run()
			}
		}
	}()
	r := e2etest.Plugin(t, c.KubeconfigPath, set.confirm(set.plan)...)
	close(done)
	t.Logf("%d labels per object", <-over)
	set.isReviewed(t, r.Ends(t, 0))
	e2etest.Plugin(t, c.KubeconfigPath, set.confirm(set.plan)...).Ends(t, 0).Says(t, "nothing is left to do")
}

// If an object does not become ready, nothing is pruned, and the same plan does the rest later.
func TestConfirmUnready(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, pruneBefore)).Ends(t, 0)
	pods := ""
	for i := range 5 {
		pods += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {nodeSelector: {missing: node}, containers: [{name: c, image: registry.example/c:1}]}}\n", i)
	}
	set := []string{"-n", ns, "--apply-set=shop", "--prune", "-f", e2etest.File(t, pruneAfter+pods)}
	confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
	for range 2 {
		e2etest.Plugin(t, c.KubeconfigPath, append(confirm, "--wait", "--timeout=3s")...).Ends(t, 1)
		if e2etest.Kubectl(t, c, "get", "configmap/old", "-n", ns, "-o", "name") == "" {
			t.Error("a run in which not everything was ready has pruned")
		}
	}
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "1 pruned")
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
}
