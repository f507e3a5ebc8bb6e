package race

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

var web = object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web"}

// Attempts go on for longer than a controller's burst, and come to an end, whether the pauses or
// the requests take the time.
func TestAgain(t *testing.T) {
	for name, request := range map[string]time.Duration{"fast": 0, "slow": 15 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, attempts, made := time.Now(), At(web), 1
				var err error
				for ; err == nil; made++ {
					time.Sleep(request)
					err = attempts.Again(t.Context())
				}
				lost, is := errors.AsType[*LostError](err)
				if !is || lost.Attempts != made-1 || lost.Ref != web {
					t.Errorf("after %d: %v", made-1, err)
				}
				if took := time.Since(began); took < patience/2 || took > 2*limit || lost.Took != took {
					t.Errorf("it took %s, and says %s", took, lost.Took)
				}
			})
		})
	}
}

func TestAgainEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupted := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupted)
		began := time.Now()
		if err := At(web).Again(ctx); !errors.Is(err, interrupted) || time.Since(began) > 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
