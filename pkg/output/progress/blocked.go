package progress

import (
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func plainRetry(e event.Retrying) string {
	var starting interface{ Starting() bool }
	text, why := "the API server does not answer", ": "+oneLine(e.Err)
	code := answered(e.Err)
	switch {
	case e.Ref != (object.Ref{}):
		text = "the request for " + format.Name(e.Ref) + " failed"
	case errors.As(e.Err, &starting):
		text, why = oneLine(e.Err), "" // The server answers, so the error says it.
	case code != 0:
		text = fmt.Sprintf("the API server answers %d", code)
	}
	text += ", trying again"
	if e.Left.Round(time.Second) > 0 {
		text += " for up to " + seconds(e.Left)
	}
	return text + why
}

// answered returns the status code if the API server itself answered; 0 if nothing did, or only a
// gateway.
func answered(err error) int32 {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return 0
	}
	s := status.Status()
	if s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	}) {
		return 0
	}
	return s.Code
}

func oneLine(err error) string {
	if err == nil {
		return "no reason given"
	}
	return text.Printable(err.Error())
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%d s", int64(max(0, d).Round(time.Second)/time.Second))
}

// root returns the innermost error, which is the shortest description: "connection refused".
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
