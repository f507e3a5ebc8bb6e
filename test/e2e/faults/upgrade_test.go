package faults_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// TestUpgrade upgrades from another version and rolls back while eight managers write: no write is
// denied, and afterwards warnings and records are right. PREVIOUS is that version's folder, with
// its bin/webhook and bin/helm.
func TestUpgrade(t *testing.T) {
	circle.Full(t)
	previous := os.Getenv("PREVIOUS")
	if previous == "" {
		t.Skip("PREVIOUS names no other version to upgrade from")
	}
	tr := beginFrom(t, cluster.Options{}, companion.Options{Root: previous, Args: []string{"--records-per-second=1000", "--shutdown-delay=0s"}})
	replicas := []*companion.Replica{tr.first(t), tr.replica(t)}
	for _, namespace := range []string{"work", "upgraded"} {
		tr.makeNamespace(t, namespace)
	}
	roll := func() {
		for n, old := range replicas { // the new one first
			replicas[n] = tr.replica(t)
			if err := old.Stop(); err != nil {
				t.Errorf("a replica did not end well: %v", err)
			}
		}
	}
	tr.fill(t)
	tr.called(t, "before")
	tr.warned(t, "before")

	calls := tr.ignored(t)
	tr.load(t, 1, func(ctx context.Context) {
		tr.takeovers(ctx, 0.3)
		if err := tr.Upgrade(t.Context(), filepath.Dir(filepath.Dir(chart.Dir(t)))); err != nil {
			t.Error(err)
			return
		}
		tr.takeovers(ctx, 0.3)
		roll()
		tr.takeovers(ctx, 0.3)
	})
	t.Logf("upgraded: %d calls had no answer", tr.ignored(t)-calls)
	tr.called(t, "upgraded")
	tr.warned(t, "upgraded")
	before := tr.truth
	tr.truth = newTruth(t, tr.client, "upgraded", objects())
	tr.load(t, 2, func(context.Context) {})
	tr.expect(t, noGaps)

	calls = tr.ignored(t)
	tr.truth = before
	tr.load(t, 3, func(ctx context.Context) {
		tr.takeovers(ctx, 0.3)
		if err := tr.Rollback(t.Context(), previous); err != nil {
			t.Error(err)
			return
		}
		tr.takeovers(ctx, 0.3)
		roll()
		tr.takeovers(ctx, 0.3)
	})
	t.Logf("rolled back: %d calls had no answer", tr.ignored(t)-calls)
	tr.called(t, "back")
	tr.warned(t, "back")
}

// warned takes over a value until there is a warning.
func (tr *trial) warned(t *testing.T, when string) {
	t.Helper()
	config, err := tr.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	heard := &warnings{}
	config.WarningHandler = heard
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	as, n := &trial{client: client}, 0
	tr.await(t, "a warning "+when, func() bool {
		n++
		as.take(t, metav1.NamespaceDefault, "warned", []string{"first", "second"}[n%2])
		return heard.some("/warned: .data.k taken from ")
	})
}

// warnings collects a client's warnings.
type warnings struct {
	mu  sync.Mutex
	all []string
}

var _ rest.WarningHandler = (*warnings)(nil)

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warnings) some(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.all, func(text string) bool { return strings.Contains(text, part) })
}
