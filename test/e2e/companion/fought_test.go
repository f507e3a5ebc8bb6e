package companion_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// A fight's record contains its start, its number of takeovers and the last user, even if the
// managed fields do not prove who wrote.
func TestFightsReadRecords(t *testing.T) {
	c := newClient(t, "")
	c.namespace(t, "fought")
	o := c.apply(t, deployments, web("fought", "1"), "flux")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	defer writers.Wait()
	operator := newClient(t, "operator").Resource(deployments).Namespace("fought")
	writers.Go(func() {
		for ctx.Err() == nil {
			_, _ = operator.Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{FieldManager: "keda"})
			time.Sleep(50 * time.Millisecond)
			c.apply(t, deployments, web("fought", "1"), "flux")
			time.Sleep(50 * time.Millisecond)
		}
	})
	eventually(t, "it is recorded more than once", func() bool {
		return slices.ContainsFunc(c.record(t, o), func(e ownership.Entry) bool { return e.Count > 1 })
	})
	message, status := c.plugin(t, "fights", "deployments", "-n", "fought", "--for=2s")
	stop()
	if status != 1 || !strings.Contains(message, "flux (Apply) ↔ keda (Update)\n    recorded  ") || !strings.Contains(message, " owner changes since ") || !strings.Contains(message, " by user ") {
		t.Errorf("exit status %d\n%s", status, message)
	}
}
