package client_test

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

func TestLog(t *testing.T) {
	var asked string
	c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
		asked = req.URL.Path + "?" + req.URL.RawQuery
		if strings.Contains(req.URL.Path, "hidden") {
			return clienttest.Failure(http.StatusForbidden, metav1.StatusReasonForbidden, nil), nil
		}
		return clienttest.Text(http.StatusOK, "text/plain", "one\ntwo\nthree\n"), nil
	})
	l := client.Log{Namespace: "prod", Pod: "web-1", Container: "app", Previous: true, Lines: 5, Bytes: 7}
	message, err := c.NoRetry().Log(t.Context(), l)
	if want := "/api/v1/namespaces/prod/pods/web-1/log?container=app&limitBytes=7&previous=true&tailLines=5"; asked != want || err != nil {
		t.Errorf("asked %s, want %s; error %v", asked, want, err)
	}
	if message != "one\ntwo" { // Whatever the server sends, it is bounded.
		t.Errorf("read %q", message)
	}
	l.Pod = "hidden"
	if _, err := c.NoRetry().Log(t.Context(), l); !apierrors.IsForbidden(err) {
		t.Errorf("error %v", err)
	}
}
