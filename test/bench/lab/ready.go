package lab

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The status that makes a Deployment ready: there is no controller that would.
const (
	ReadyStatus = `{"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,
		"conditions":[{"type":"Available","status":"True","reason":"MinimumReplicasAvailable","message":""},
		{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable","message":""}]}}`
	// beforeReady is how long a tool has to begin its wait; afterwards they become
	// ready one after the other, at this pace.
	beforeReady, eachReady = 3 * time.Second, 10 * time.Millisecond
)

// BecomeReady makes the Deployments of the plot ready, after a while and one after the
// other, concurrently with the caller. The returned function waits for the end and
// returns when the last of them became ready.
func (p *Plot) BecomeReady(ctx context.Context) func(context.Context) (time.Time, error) {
	type end struct {
		at  time.Time
		err error
	}
	done := make(chan end, 1)
	go func() {
		var e end
		time.Sleep(beforeReady)
		order, members, err := p.Collections()
		e.err = err
		for _, c := range order {
			for _, u := range members[c] {
				time.Sleep(eachReady)
				e.at = time.Now()
				if _, err := p.Resource(c).Patch(ctx, u.GetName(), types.MergePatchType, []byte(ReadyStatus), metav1.PatchOptions{}, "status"); err != nil {
					e.err = err
				}
			}
		}
		done <- e
	}()
	return func(ctx context.Context) (time.Time, error) {
		select {
		case e := <-done:
			return e.at, e.err
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
	}
}
