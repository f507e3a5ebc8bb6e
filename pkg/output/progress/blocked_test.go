package progress

import (
	"errors"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

type notReadyError struct{}

func (notReadyError) Error() string {
	return "the API server is starting (it answers /readyz with 500)"
}

func (notReadyError) Starting() bool { return true }

// A server that answers is not said not to answer, and time is promised only
// where it will be taken.
func TestPlainRetry(t *testing.T) {
	web := object.Ref{Name: "web", Namespace: "prod"}
	web.GVK.Kind = "ConfigMap"
	for want, e := range map[string]event.Retrying{
		"the API server does not answer, trying again for up to 9 s: EOF": {
			Err: errors.New("EOF"), Left: 9 * time.Second,
		},
		"the API server is starting (it answers /readyz with 500), trying again for up to 9 s": {
			Err: notReadyError{}, Left: 9 * time.Second,
		},
		"configmap/web -n prod did not come through, trying again: oops": {
			Ref: web, Err: errors.New("oops"),
		},
	} {
		if got := plainRetry(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
