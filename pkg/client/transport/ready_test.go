package transport_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

func newSender(t *testing.T, f *clienttest.Fake) *transport.Sender {
	t.Helper()
	var reporting sync.Mutex
	config := &rest.Config{Host: "http://fake", Transport: f}
	client, err := rest.UnversionedRESTClientFor(transport.Prepare(config, transport.Origin{}, transport.NewWarnings(&reporting, nil), &transport.Clock{}))
	if err != nil {
		t.Fatal(err)
	}
	return transport.New(client, transport.Options{Reporting: &reporting})
}

// A server that answers 200 to every request is not an API server.
func TestWrongAnswerToReadyz(t *testing.T) {
	for what, body := range clienttest.WrongAnswers() {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f := &clienttest.Fake{AnswersReadyz: true, Answer: func(_ int, req *http.Request) (*http.Response, error) {
					if time.Since(began) < 10*time.Second {
						return clienttest.Text(200, "application/json", body), nil
					}
					if req.URL.Path == "/readyz" {
						return clienttest.Text(200, "text/plain", "ok"), nil
					}
					return clienttest.OK(req), nil
				}}
				requests := newSender(t, f)
				if err := requests.Ready(t.Context()); err == nil && what != "no JSON" { // which is OK
					t.Errorf("Ready accepted a wrong answer: %v", err)
				}
				time.Sleep(10 * time.Second)
				if err := requests.Ready(t.Context()); err != nil {
					t.Errorf("Ready refused the answer of the API server: %v", err)
				}
			})
		})
	}
}

// If a server is not ready, the error names its failing checks.
func TestNotReadyNamesChecks(t *testing.T) {
	for message, want := range map[string]string{
		"[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\nreadyz check failed\n": "the API server is running but not ready: etcd failed",
		"[-]etcd failed: reason withheld\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n": "the API server is running but not ready: " +
			"etcd, poststarthook/rbac/bootstrap-roles failed",
		"": "the API server is starting (/readyz returns 500)",
	} {
		requests := newSender(t, &clienttest.Fake{Answer: func(int, *http.Request) (*http.Response, error) {
			return clienttest.Text(500, "text/plain", message), nil
		}})
		if err := requests.Ready(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", message, err, want)
		}
	}
}
