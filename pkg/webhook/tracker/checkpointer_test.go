package tracker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// broken is a sink that cannot compare anything, as where the definition of records
// is missing.
type broken struct {
	nowhere
	asked int
}

func (s *broken) Gap(context.Context, func(types.UID) (ownership.Owners, string, bool)) error {
	s.asked++
	return errors.New("not found")
}

// unreadable are config maps that cannot be read.
type unreadable struct{ ConfigMaps }

func (unreadable) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	return nil, errors.New("forbidden")
}

// Comparing everything that was recorded is expensive: if it fails, it is not repeated
// every second for as long as the failure lasts.
func TestGapsAreRetriedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &broken{}
		tracker := &Tracker{
			opts:  Options{Sink: sink, ConfigMaps: unreadable{}, Log: logr.Discard(), StoreEvery: 24 * time.Hour},
			state: newState(0),
		}
		tracker.ready.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		tracker.state.lead(true, time.Now())
		tracker.state.gaps = []*pendingChange{{gap: &gap{blind: true}}}
		tracker.compare(ctx)
		if sink.asked < 10 || sink.asked > 30 {
			t.Errorf("it was asked %d times in an hour", sink.asked)
		}
	})
}
