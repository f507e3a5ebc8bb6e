package companion_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// Measure how long a namespace of 5,000 objects takes to go, with the webhook and without it:
//
//	DELETION_COST=5 go test ./test/e2e/companion -run TestNamespaceCost -count 1 -v -timeout 30m
//
// The value is the number of pairs. In each, the webhook is installed and running for one of two namespaces, in
// turns the first and the second. DELETION_COST_SET=tracking.deletions=false sets values of the chart, to measure
// the tracker without the records of deletions. Nothing else may run on the machine.
func TestNamespaceCost(t *testing.T) {
	var pairs int
	if _, err := fmt.Sscan(os.Getenv("DELETION_COST"), &pairs); err != nil || pairs < 1 {
		t.Skip("only measures: DELETION_COST is not set")
	}
	c := newClient(t, "")
	configurations := c.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"})
	installed, err := configurations.Get(t.Context(), companion.Release, metav1.GetOptions{})
	c.must(t, err)
	installed.SetResourceVersion("")
	installed.SetUID("")
	running := shared.replica
	set := func(with bool) {
		switch {
		case with && running == nil:
			_, err := configurations.Create(t.Context(), installed, metav1.CreateOptions{})
			c.must(t, err)
			running, err = shared.webhook.Start(t.Context())
			c.must(t, err)
		case !with && running != nil:
			c.must(t, configurations.Delete(t.Context(), companion.Release, metav1.DeleteOptions{}))
			c.must(t, running.Stop())
			running = nil
		}
	}
	var took [2][]time.Duration // without, with
	for n := range 2 * pairs {
		which := (n + n/2) % 2
		set(which == 1)
		took[which] = append(took[which], c.deleteNamespace(t, fmt.Sprint("cost-", n), 5000))
	}
	without, with := median(took[0]), median(took[1])
	t.Logf("without %v, with %v", took[0], took[1])
	t.Logf("medians: %s with, %s without, ratio %.3f", with, without, float64(with)/float64(without))
}

func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// deleteNamespace fills a namespace, deletes it, and returns how long it takes to go.
func (c *client) deleteNamespace(t *testing.T, name string, objects int) time.Duration {
	t.Helper()
	c.namespace(t, name)
	var group errgroup.Group
	group.SetLimit(8)
	for n := range objects {
		group.Go(func() error {
			_, err := c.try(t, configMaps, configMap(name, fmt.Sprint("x-", n), ""), "flux")
			return err
		})
	}
	c.must(t, group.Wait())
	began := time.Now()
	c.must(t, c.Resource(namespaces).Delete(t.Context(), name, metav1.DeleteOptions{}))
	for {
		_, err := c.Resource(namespaces).Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return time.Since(began)
		}
		c.must(t, err)
		time.Sleep(50 * time.Millisecond)
	}
}
