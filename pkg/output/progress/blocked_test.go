package progress

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

type notReadyError struct{}

func (notReadyError) Error() string {
	return "the API server is starting (/readyz returns 500)"
}

func (notReadyError) Starting() bool { return true }

// sick is an error answer from a server with problems.
func sick(code int32, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Message: "etcd is away", Details: &metav1.StatusDetails{Causes: causes},
	}}
}

// A server that answers with errors is not reported as down. A time is shown only if the retries
// have a limit.
func TestPlainRetry(t *testing.T) {
	web := object.Ref{Name: "web", Namespace: "prod"}
	web.GVK.Kind = "ConfigMap"
	for want, e := range map[string]event.Retrying{
		"the API server does not answer, trying again for up to 9 s: EOF": {
			Err: errors.New("EOF"), Left: 9 * time.Second,
		},
		"the API server is starting (/readyz returns 500), trying again for up to 9 s": {
			Err: notReadyError{}, Left: 9 * time.Second,
		},
		"the API server returned 503, trying again for up to 9 s: the index: etcd is away": {
			Err: fmt.Errorf("the index: %w", sick(503)), Left: 9 * time.Second,
		},
		"the API server does not answer, trying again for up to 9 s: etcd is away": { // A gateway does.
			Err: sick(502, metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse}), Left: 9 * time.Second,
		},
		"the request for configmap/web -n prod failed, trying again: oops": {
			Ref: web, Err: errors.New("oops"),
		},
	} {
		if got := plainRetry(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
