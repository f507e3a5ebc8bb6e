package retry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

var web = object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web"}

// Attempts last longer than a controller's burst of writes, and end in limited time. This is true
// if the pauses take the time, and if the requests do.
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
					t.Errorf("after %d attempts: got error %v, want a LostError", made-1, err)
				}
				if took := time.Since(began); took < patience/2 || took > 2*limit || lost.Took != took {
					t.Errorf("the attempts took %s, and the error has %s", took, lost.Took)
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

// The other writers are named, the most frequent first. Our own manager is not named.
func TestLostErrorNamesOtherWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(second int) string {
			return time.Date(2026, 11, 24, 2, 0, second, 0, time.UTC).Format(time.RFC3339)
		}
		version := func(controller, ours, edit int) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{
				map[string]any{"manager": "controller", "operation": "Update", "subresource": "status", "time": at(controller)},
				map[string]any{"manager": "k8sconnect", "operation": "Apply", "time": at(ours)},
				map[string]any{"manager": "edit", "operation": "Update", "time": at(edit)},
			}}}}
		}
		attempts := At(web)
		attempts.OnRead(version(1, 1, 1))
		attempts.OnRead(version(2, 1, 2))
		attempts.OnWritten(version(2, 3, 2))
		attempts.OnRead(version(4, 3, 2))
		var err error
		for err == nil {
			err = attempts.Again(t.Context())
		}
		lost, is := errors.AsType[*LostError](err)
		if !is || !slices.Equal(lost.Writers, []string{"controller (status)", "edit"}) {
			t.Fatalf("%+v", err)
		}
		for _, want := range []string{"controller (status)", "edit", "kubectl k8sconnect owners", "deployment.apps/web -n shop"} {
			if !strings.Contains(lost.Hint(), want) {
				t.Errorf("hint does not contain %q: %s", want, lost.Hint())
			}
		}
	})
}
