package stuck

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/test/commandtest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// unansweredError is the client's error after its last retry.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error   { return e.error }
func (unansweredError) Unreachable() bool { return true }

// A question without an answer is reported, regardless of its error and of how the error is
// wrapped. An object that was not read is not mistaken for an absent one (edge case 67).
func TestUnansweredQuestionsAreReported(t *testing.T) {
	code := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: code, Reason: reason, Message: "x"}}
	}
	failures := map[string]error{"no status": errors.New("no status"), "slow": diagnose.ErrSlow}
	for _, reason := range []metav1.StatusReason{
		metav1.StatusReasonUnknown, metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
		metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable, metav1.StatusReasonMethodNotAllowed,
		metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonStoreReadError,
		metav1.StatusReasonBadRequest, metav1.StatusReasonNotAcceptable,
	} {
		failures["status "+string(reason)] = code(http.StatusInternalServerError, reason)
	}
	for name, failure := range failures {
		for wrapped, err := range map[string]error{name: failure, name + ", after retries": unansweredError{failure}} {
			for other, more := range map[string]error{"": nil, ", and another kind fails": apierrors.NewInternalError(errors.New("etcd"))} {
				t.Run(wrapped+other, func(t *testing.T) {
					m := diagnosetest.Memory{Answers: diagnosetest.Answers{Failing: map[string]error{"Widget": err}}, Objects: diagnosetest.Read(t, strings.TrimSpace(namespaced("", "kubernetes")+
						"\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: other}}"+
						"\n---\n{apiVersion: example.org/v1, kind: Gadget, metadata: {name: w, namespace: other}}"))}
					if more != nil {
						m.Failing["Gadget"] = more
					}
					g := Explainer{Gatherer: diagnose.Gatherer{Reader: &m, Now: diagnosetest.Now}, Pause: 1}
					facts, err := g.Gather(t.Context(), m.Objects[0])
					if err != nil {
						t.Fatal(err)
					}
					causes := Diagnose(facts)
					if message := commandtest.Plain(fmt.Sprint(causes)); !strings.Contains(message, "list widget.example.com -n shop") {
						t.Errorf("no cause says that widgets could not be listed:\n%s", message)
					}
				})
			}
		}
	}
}
