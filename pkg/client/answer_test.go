package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// questions returns all kinds of requests.
func questions() []clienttest.Question {
	return append(clienttest.Questions(), clienttest.Question{Name: "Count", Ask: func(ctx context.Context, c *client.Client) error {
		c.Hold("1", []object.Kind{clienttest.ConfigMaps()})
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
		u.SetName("prod")
		u.SetUID("1")
		_, err := c.Count(ctx, u)
		return err
	}})
}

// Edge case 85: after a wrong answer with status 200, the result of every request is unknown. The
// client never concludes that an object is absent, or that a request was carried out or refused.
func TestWrongAnswers(t *testing.T) {
	for what, body := range clienttest.WrongAnswers() {
		for _, q := range questions() {
			t.Run(q.Name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
						if req.URL.Path == "/readyz" {
							return clienttest.Text(200, "text/plain", "ok"), nil
						}
						return clienttest.Text(200, "application/json", body), nil
					})
					c.Know(clienttest.ConfigMaps(), false)
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					err := q.Ask(ctx, c)
					var unreachable interface{ Unreachable() bool }
					switch {
					case err == nil:
						t.Errorf("the wrong answer was accepted, requests: %s", f.Requests)
					case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown, meta.IsNoMatchError(err):
						t.Errorf("the error is one of the API server: %v", err)
					case !errors.As(err, &unreachable):
						t.Errorf("the error does not say that the result is unknown: %v", err)
					}
				})
			})
		}
	}
}

func TestWriteIsRetriedAfterOneWrongAnswer(t *testing.T) {
	for what, body := range clienttest.WrongAnswers() {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, _ := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
					if n == 1 {
						return clienttest.Text(200, "application/json", body), nil
					}
					return clienttest.OK(req), nil
				})
				if _, err := c.Apply(t.Context(), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"}); err != nil {
					t.Error(err)
				}
				if n := f.Count("PATCH"); n != 2 {
					t.Errorf("%d requests, want 2", n)
				}
			})
		})
	}
}

func TestWriteThatMayHaveArrived(t *testing.T) {
	whole := clienttest.Status(metav1.Status{Status: metav1.StatusSuccess})
	for what, answer := range map[string]func() *http.Response{
		"half an answer": func() *http.Response {
			return clienttest.Text(200, "application/json", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"na`)
		},
		"a wrong answer": func() *http.Response { return clienttest.Text(200, "application/json", whole) },
		"no answer":      func() *http.Response { return clienttest.HTML(502) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					if strings.HasSuffix(req.URL.Path, "/readyz") {
						return clienttest.Text(200, "text/plain", "ok"), nil
					}
					return answer(), nil
				})
				_, err := c.Apply(t.Context(), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
				var underway interface{ MayBeWritten() bool }
				if !errors.As(err, &underway) || !underway.MayBeWritten() {
					t.Errorf("the error does not say that the write may have arrived: %v", err)
				}
				_, err = c.Apply(t.Context(), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m", DryRun: true})
				if errors.As(err, &underway) {
					t.Errorf("the error says that a dry run may have been written: %v", err)
				}
			})
		})
	}
}
