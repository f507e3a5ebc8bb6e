package discovery_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// If an API server fails a request for schemas, the error contains its message. An error of a
// gateway counts as a lost answer.
func TestFailingSchemaRequest(t *testing.T) {
	const index, document = "/openapi/v3", "/openapi/v3/apis/example.com/v1"
	status := func(code int, reason metav1.StatusReason) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return clienttest.Failure(code, reason, nil), nil }
	}
	for name, test := range map[string]struct {
		fault func(*http.Request) (*http.Response, error)
		// code is the HTTP status of the answer; 0 if there is no answer.
		code int32
		says string
	}{
		"500":             {status(500, metav1.StatusReasonInternalError), 500, "500 InternalError"},
		"503":             {status(503, metav1.StatusReasonServiceUnavailable), 503, "503 ServiceUnavailable"},
		"504":             {status(504, metav1.StatusReasonTimeout), 504, "504 Timeout"},
		"429":             {status(429, metav1.StatusReasonTooManyRequests), 429, "429 TooManyRequests"},
		"401":             {status(401, metav1.StatusReasonUnauthorized), 401, "401 Unauthorized"},
		"a gateway's 502": {func(*http.Request) (*http.Response, error) { return clienttest.HTML(502), nil }, 0, "did not answer"},
		"a gateway's 503": {func(*http.Request) (*http.Response, error) { return clienttest.HTML(503), nil }, 0, "did not answer"},
		"a gateway's JSON": {func(*http.Request) (*http.Response, error) {
			return clienttest.Reply(503, map[string]any{"message": "no healthy upstream"}), nil
		}, 0, "did not answer"},
		"a gateway's success": {func(*http.Request) (*http.Response, error) {
			return clienttest.Reply(503, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}), nil
		}, 0, "did not answer"},
		"{}": {func(*http.Request) (*http.Response, error) { return clienttest.Reply(200, map[string]any{}), nil }, 0, "unexpected answer"},
	} {
		for _, path := range []string{index, document} {
			t.Run(name+", "+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					s := &clienttest.ThingServer{Served: now, There: now, Sick: func(p string) bool { return p == path }, From: now, To: now.Add(time.Hour), Fault: test.fault}
					c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) { return s.Published(req) })
					_, err := c.Schema(t.Context(), clienttest.Things())
					if took := time.Since(now); err == nil || took > 40*time.Second {
						t.Fatalf("%v after %s", err, took)
					}
					if message := strings.Contains(err.Error(), "did not answer"); message != (test.says == "did not answer" || name == "{}") || !strings.Contains(err.Error(), test.says) {
						t.Errorf("unexpected text of the error: %v", err)
					}
					for _, r := range says.Retries {
						if isStatus := !apierrors.IsUnexpectedServerError(r.Err) && transport.StatusOf(r.Err).Code == test.code; !isStatus && test.code != 0 {
							t.Errorf("reported a retry with another error: %v", r.Err)
						}
					}
					if test.code != 0 && transport.StatusOf(err).Code != test.code {
						t.Errorf("the error has lost the code %d: %v", test.code, fmt.Sprintf("%#v", transport.StatusOf(err)))
					}
				})
			})
		}
	}
}

// It is not an error if a server has no schema, or does not let us read the schema.
func TestNoSchema(t *testing.T) {
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonNotFound, metav1.StatusReasonForbidden, metav1.StatusReasonNotAcceptable} {
		t.Run(string(reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				code := map[metav1.StatusReason]int{metav1.StatusReasonNotFound: 404, metav1.StatusReasonForbidden: 403, metav1.StatusReasonNotAcceptable: 406}[reason]
				now := time.Now()
				s := &clienttest.ThingServer{Served: now, There: now, Sick: func(p string) bool { return strings.HasPrefix(p, "/openapi") }, From: now, To: now.Add(time.Hour), Fault: func(*http.Request) (*http.Response, error) {
					return clienttest.Failure(code, reason, nil), nil
				}}
				c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) { return s.Published(req) })
				if known, err := c.Schema(t.Context(), clienttest.Things()); known != nil || err != nil || time.Since(now) > time.Second {
					t.Errorf("%v, %v after %s", known, err, time.Since(now))
				}
			})
		})
	}
}
