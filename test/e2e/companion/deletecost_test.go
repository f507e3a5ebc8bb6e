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
// The value is the number of repetitions. DELETION_COST_SET=tracking.deletions=false sets values of the
// chart, to measure the tracker without the records of deletions. All those with the webhook come first, because it is removed
// in between. Nothing else may run on the machine.
func TestNamespaceCost(t *testing.T) {
	var times int
	if _, err := fmt.Sscan(os.Getenv("DELETION_COST"), &times); err != nil || times < 1 {
		t.Skip("only measures: DELETION_COST is not set")
	}
	c := newClient(t, "")
	measure := func(what string) time.Duration {
		var all []time.Duration
		for n := range times {
			all = append(all, c.deleteNamespace(t, fmt.Sprint("cost-", what, "-", n), 5000))
		}
		slices.Sort(all)
		t.Logf("%s: %v", what, all)
		return all[len(all)/2]
	}
	with := measure("with")
	configurations := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	c.must(t, c.Resource(configurations).Delete(t.Context(), companion.Release, metav1.DeleteOptions{}))
	c.must(t, shared.replica.Stop())
	without := measure("without")
	t.Logf("medians: %s with, %s without, ratio %.3f", with, without, float64(with)/float64(without))
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
