package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	door "github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// locker is a run that takes a set's lock.
type locker struct {
	*visitor
	lock   *setrun.Lock
	parent object.Ref
}

func newLocker(t *testing.T, kubeconfig, name string, parent object.Ref) *locker {
	t.Helper()
	l := &locker{lock: setrun.NewLock(name, "run"), parent: parent}
	l.visitor = visit(t, kubeconfig, door.Options{Guard: l.lock.Begin})
	t.Cleanup(func() { _ = l.lock.Release(context.WithoutCancel(t.Context())) })
	return l
}

func (l *locker) acquire(t *testing.T, within time.Duration) (context.Context, error) {
	t.Helper()
	return l.lock.Acquire(t.Context(), l.parent, l.Client, l.Client, within, nil)
}

// write writes a ConfigMap, as an apply does.
func (l *locker) write(t *testing.T, ns, name string) error {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetNamespace(ns)
	u.SetName(name)
	_, err := l.Apply(t.Context(), l.kind(t, "", "v1", "ConfigMap"), u, object.Write{Manager: manager})
	return err
}

func parentIn(ns string) object.Ref {
	return object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: ns, Name: "shop"}
}

// Runs have the lock one at a time, with a real server, even if the responses to a third of the
// requests for the Lease are lost (edge case 104).
func TestLock(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := watched(t, c)
	ns := uniqueName()
	ask(t, c, "create", "namespace", ns)
	leases := "/apis/coordination.k8s.io/v1/namespaces/" + ns + "/leases"
	n := 0
	p.Fail(-1, func(r *http.Request) bool {
		if r.Method == http.MethodGet || !strings.HasPrefix(r.URL.Path, leases) {
			return false
		}
		n++
		return n%3 == 1
	}, proxy.Fault{AnswerLost: true})
	one, two := newLocker(t, kubeconfig, "one", parentIn(ns)), newLocker(t, kubeconfig, "two", parentIn(ns))
	if err := one.write(t, ns, "before"); err == nil || !strings.Contains(err.Error(), "the lock of the set is not held") {
		t.Errorf("a write before the lock is held: %v", err)
	}
	for range 3 {
		if _, err := one.acquire(t, 0); err != nil {
			t.Fatal(err)
		}
		_, err := two.acquire(t, 0)
		if held, ok := errors.AsType[*setrun.HeldError](err); !ok || held.Holder != "one" || held.Run != "run" || held.Since.IsZero() {
			t.Fatalf("the second run: %v", err)
		}
		if err := one.write(t, ns, "held"); err != nil {
			t.Errorf("a write while the lock is held: %v", err)
		}
		if err := two.write(t, ns, "stolen"); err == nil || !strings.Contains(err.Error(), "the lock of the set is not held") {
			t.Errorf("a write of the second run: %v", err)
		}
		if err := one.lock.Release(t.Context()); err != nil {
			t.Fatalf("the lock was not released: %v", err)
		}
		one, two = newLocker(t, kubeconfig, "one", parentIn(ns)), newLocker(t, kubeconfig, "two", parentIn(ns))
	}
	if n == 0 {
		t.Error("no answer was lost")
	}
	for _, not := range []string{"before", "stolen"} {
		if p.Count(http.MethodPatch, "/api/v1/namespaces/"+ns+"/configmaps/"+not) > 0 {
			t.Errorf("a write without the lock was sent: %s", not)
		}
	}
}

// The lock of a dead run can be taken over when its Lease has expired, whatever clock wrote it.
// Other tools' annotations on the Lease stay.
func TestLockOfADeadRun(t *testing.T) {
	c := shared.Cluster(t)
	for name, renewed := range map[string]string{"behind": "2001-01-01T00:00:00.000000Z", "ahead": "2101-01-01T00:00:00.000000Z"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := uniqueName()
			lease := setrun.LeaseOf(parentIn(ns)).Name
			ask(t, c, "apply", "-f", write(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+ns+`}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: `+lease+", namespace: "+ns+`, labels: {team: shop}}
spec: {holderIdentity: dead, leaseDurationSeconds: 3, renewTime: "`+renewed+`", leaseTransitions: 4}
`))
			l := newLocker(t, c.KubeconfigPath, "alive", parentIn(ns))
			if _, err := l.acquire(t, 0); err == nil {
				t.Fatal("the lock was taken over without a wait")
			}
			if _, err := l.acquire(t, time.Minute); err != nil {
				t.Fatal(err)
			}
			got := ask(t, c, "get", "lease", lease, "-n", ns, "-o", "jsonpath={.spec.holderIdentity} {.spec.leaseTransitions} {.metadata.labels.team} {.metadata.annotations.k8sconnect\\.io/run}")
			if got != "alive 5 shop run" {
				t.Errorf("the Lease has %q, want alive 5 shop run", got)
			}
		})
	}
}

// If the lock is taken away, the run ends and sends nothing more, whether its Lease was taken or
// deleted.
func TestLockTakenAway(t *testing.T) {
	c := shared.Cluster(t)
	for name, args := range map[string][]string{
		"taken":   {"patch", "lease", "LEASE", "--type=merge", "-p", `{"spec":{"holderIdentity":"somebody"}}`},
		"deleted": {"delete", "lease", "LEASE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, kubeconfig := watched(t, c)
			ns := uniqueName()
			ask(t, c, "create", "namespace", ns)
			l := newLocker(t, kubeconfig, "one", parentIn(ns))
			held, err := l.acquire(t, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.write(t, ns, "first"); err != nil {
				t.Fatal(err)
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "LEASE", setrun.LeaseOf(parentIn(ns)).Name)
			}
			ask(t, c, append(args, "-n", ns)...)
			select {
			case <-held.Done():
			case <-time.After(10 * time.Minute):
				t.Fatal("the run did not end")
			}
			if err := l.write(t, ns, "late"); !errors.Is(err, context.Cause(held)) || !errors.As(err, new(*setrun.LostError)) {
				t.Errorf("a late write: %v", err)
			}
			if p.Count(http.MethodPatch, "/api/v1/namespaces/"+ns+"/configmaps/late") > 0 {
				t.Error("the late write was sent")
			}
		})
	}
}

// A Lease in a missing namespace is refused with that reason.
func TestLockWithoutNamespace(t *testing.T) {
	l := newLocker(t, shared.Cluster(t).KubeconfigPath, "one", parentIn("nowhere-"+uniqueName()))
	_, err := l.acquire(t, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "namespaces") {
		t.Errorf("%v", err)
	}
}
