package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// status returns the body of an answer that is a Status.
func status(s metav1.Status) string {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	text, _ := json.Marshal(s)
	return string(text)
}

// wrongAnswers are bodies, sent with status 200, none of which answers any of our requests.
func wrongAnswers() map[string]string {
	failed := func(code int32, reason metav1.StatusReason) string {
		return status(metav1.Status{
			Status: metav1.StatusFailure, Code: code, Reason: reason, Message: "no",
			Details: &metav1.StatusDetails{Name: "a", Kind: "configmaps"},
		})
	}
	return map[string]string{
		"nothing":                    "",
		"no JSON":                    "OK",
		"a page":                     "<html></html>",
		"null":                       "null",
		"an empty object":            "{}",
		"an empty array":             "[]",
		"a string":                   `"ok"`,
		"not found":                  failed(404, metav1.StatusReasonNotFound),
		"forbidden":                  failed(403, metav1.StatusReasonForbidden),
		"invalid":                    failed(422, metav1.StatusReasonInvalid),
		"conflict":                   failed(409, metav1.StatusReasonConflict),
		"expired":                    failed(410, metav1.StatusReasonExpired),
		"too many requests":          failed(429, metav1.StatusReasonTooManyRequests),
		"internal error":             failed(500, metav1.StatusReasonInternalError),
		"success without details":    status(metav1.Status{Status: metav1.StatusSuccess}),
		"success for another object": status(metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: "z", UID: "z"}}),
		"a bare list":                `{"items":[]}`,
		"a list of a list":           `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`,
		"a list of another":          `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`,
		"a list, no version":         `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}`,
		"a list of no one":           `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{}]}`,
		"half a list":                `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`,
		"a list, almost":             `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]`,
		"an unknown object":          `{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a","namespace":"prod","uid":"1"}}`,
		"of another version":         `{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a","namespace":"prod","uid":"1"}}`,
		"what was sent":              `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"prod"}}`,
		"half an object":             `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"prod","uid":"1"},"data":{"a`,
		"an object, almost":          `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"prod","uid":"1"}`,
		"an empty catalogue":         `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"an empty group":             `{"kind":"APIResourceList","groupVersion":"example.com/v9","resources":[]}`,
		"an empty discovery":         `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`,
		"an unanswered query":        `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{}}`,
	}
}

// asked is a kind of request.
type asked struct {
	name string
	ask  func(ctx context.Context, c *Client) error
}

// questions are all kinds of requests.
func questions() []asked {
	ref := refTo(configMaps, "a")
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	live := func() *unstructured.Unstructured {
		u := versionOf("a", "1", "7")
		u.SetFinalizers([]string{"example.com/f"})
		return u
	}
	many := func(n int) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error {
			refs := manyRefs(n)
			refs[0] = ref
			var errs []error
			c.Live(ctx, configMaps, refs, func(i int, live *unstructured.Unstructured, err error) {
				if err == nil {
					err = fmt.Errorf("%s: got live object %v, want an error", refs[i], live)
				} else {
					errs = append(errs, err)
					err = nil
				}
				if err != nil {
					errs = []error{err}
				}
			})
			return errs[0]
		}
	}
	write := object.Write{Manager: "m"}
	return []asked{
		{"Get", func(ctx context.Context, c *Client) error { _, err := c.Get(ctx, configMaps, ref); return err }},
		{"Apply", func(ctx context.Context, c *Client) error {
			_, err := c.Apply(ctx, configMaps, newObject(configMaps, "a"), write)
			return err
		}},
		{"Update", func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, configMaps, live(), write)
			return err
		}},
		{"SetManagedFields", func(ctx context.Context, c *Client) error {
			_, err := c.SetManagedFields(ctx, configMaps, live(), nil)
			return err
		}},
		{"Delete", func(ctx context.Context, c *Client) error {
			_, err := c.Delete(ctx, configMaps, ref, object.Deletion{UID: "1"})
			return err
		}},
		{"Delete, unseen", func(ctx context.Context, c *Client) error {
			_, err := c.Delete(ctx, configMaps, ref, object.Deletion{})
			return err
		}},
		{"RemoveFinalizer", func(ctx context.Context, c *Client) error {
			_, err := c.RemoveFinalizer(ctx, configMaps, live(), "example.com/f")
			return err
		}},
		{"Live, each", many(1)},
		{"Live, a list", many(worthList)},
		{"Select", func(ctx context.Context, c *Client) error {
			return c.Select(ctx, configMaps.GVK, object.Selection{Namespace: "prod"}, "", func(*unstructured.Unstructured) {})
		}},
		{"Exists", func(ctx context.Context, c *Client) error { _, err := c.Exists(ctx, ref); return err }},
		{"Names", func(ctx context.Context, c *Client) error {
			_, err := c.Names(ctx, configMaps, object.Selection{Namespace: "prod"})
			return err
		}},
		{"Permitted", func(ctx context.Context, c *Client) error {
			_, err := c.Permitted(ctx, configMaps, ref, "get")
			return err
		}},
		{"Version", func(ctx context.Context, c *Client) error { _, err := c.Version(ctx); return err }},
		{"Kind", func(ctx context.Context, c *Client) error { _, err := c.Kind(ctx, gvk); return err }},
		{"Served", func(ctx context.Context, c *Client) error { _, err := c.Served(ctx, gvk, 0); return err }},
		{"Resource", func(ctx context.Context, c *Client) error { _, err := c.Resource(ctx, "things"); return err }},
		{"Resources", func(ctx context.Context, c *Client) error { _, err := c.Resources(ctx, "all"); return err }},
		{"TypeNames", func(ctx context.Context, c *Client) error { _, err := c.TypeNames(ctx); return err }},
		{"Elsewhere", func(ctx context.Context, c *Client) error { _, err := c.Elsewhere(ctx, gvk); return err }},
		{"Schema", func(ctx context.Context, c *Client) error { _, err := c.Schema(ctx, configMaps); return err }},
		{"Count", func(ctx context.Context, c *Client) error {
			c.held.put("1", []object.Kind{configMaps})
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
			u.SetName("prod")
			u.SetUID("1")
			_, err := c.Count(ctx, u)
			return err
		}},
		{"NoRetry.Get", func(ctx context.Context, c *Client) error {
			_, err := c.NoRetry().Get(ctx, configMaps.GVK, "prod", "a")
			return err
		}},
		{"NoRetry.Select", func(ctx context.Context, c *Client) error {
			return c.NoRetry().Select(ctx, configMaps.GVK, object.Selection{Namespace: "prod"}, "", func(*unstructured.Unstructured) {})
		}},
		{"NoRetry.Metadata", func(ctx context.Context, c *Client) error {
			_, err := c.NoRetry().Metadata(ctx, configMaps.GVK, object.Selection{Namespace: "prod"})
			return err
		}},
		{"NoRetry.Kinds", func(ctx context.Context, c *Client) error { _, err := c.NoRetry().Kinds(ctx); return err }},
		{"NoRetry.DryRunRemoveFinalizer", func(ctx context.Context, c *Client) error {
			return c.NoRetry().DryRunRemoveFinalizer(ctx, ref, live(), "example.com/f")
		}},
		{"NoRetry.Allowed", func(ctx context.Context, c *Client) error {
			_, err := c.NoRetry().Allowed(ctx, "", "get", ref)
			return err
		}},
		{"Watch", watchFalsely(object.Selection{Namespace: "prod"})},
		{"Watch by name", watchFalsely(object.Selection{Namespace: "prod", Name: "a"})},
	}
}

// watchFalsely returns the error that ended a watch. If the watch reported any change, it returns
// an error that says so.
func watchFalsely(sel object.Selection) func(context.Context, *Client) error {
	return func(ctx context.Context, c *Client) error {
		var message error
		err := c.Watch(ctx, watched, sel, func(change object.Change) {
			if _, blind := change.(object.Unreadable); !blind {
				message = fmt.Errorf("the watch reported %#v", change)
			}
		})
		if message != nil {
			return message
		}
		return err
	}
}

// Edge case 85: after a wrong answer with status 200, the result of every request is unknown. The
// client never concludes that an object is absent, or that a request was carried out or refused.
func TestWrongAnswers(t *testing.T) {
	for what, body := range wrongAnswers() {
		for _, q := range questions() {
			t.Run(q.name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, f, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
						if req.URL.Path == "/readyz" {
							return text2response(200, "text/plain", "ok"), nil
						}
						return text2response(200, "application/json", body), nil
					})
					c.Know(configMaps, false)
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					err := q.ask(ctx, c)
					var unreachable interface{ Unreachable() bool }
					switch {
					case err == nil:
						t.Errorf("the wrong answer was accepted, requests: %s", f.seen)
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
	for what, body := range wrongAnswers() {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, _ := newFake(t, func(n int, req *http.Request) (*http.Response, error) {
					if n == 1 {
						return text2response(200, "application/json", body), nil
					}
					return ok(req), nil
				})
				if _, err := c.Apply(t.Context(), configMaps, newObject(configMaps, "a"), object.Write{Manager: "m"}); err != nil {
					t.Error(err)
				}
				if n := f.count("PATCH"); n != 2 {
					t.Errorf("%d requests, want 2", n)
				}
			})
		})
	}
}

func TestWriteThatMayHaveArrived(t *testing.T) {
	whole := status(metav1.Status{Status: metav1.StatusSuccess})
	for what, answer := range map[string]func() *http.Response{
		"half an answer": func() *http.Response {
			return text2response(200, "application/json", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"na`)
		},
		"a wrong answer": func() *http.Response { return text2response(200, "application/json", whole) },
		"no answer":      func() *http.Response { return stranger(502) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
					if strings.HasSuffix(req.URL.Path, "/readyz") {
						return text2response(200, "text/plain", "ok"), nil
					}
					return answer(), nil
				})
				_, err := c.Apply(t.Context(), configMaps, newObject(configMaps, "a"), object.Write{Manager: "m"})
				var underway interface{ MayBeWritten() bool }
				if !errors.As(err, &underway) || !underway.MayBeWritten() {
					t.Errorf("the error does not say that the write may have arrived: %v", err)
				}
				_, err = c.Apply(t.Context(), configMaps, newObject(configMaps, "a"), object.Write{Manager: "m", DryRun: true})
				if errors.As(err, &underway) {
					t.Errorf("the error says that a dry run may have been written: %v", err)
				}
			})
		})
	}
}

// A server that answers 200 to every request is not an API server.
func TestWrongAnswerToReadyz(t *testing.T) {
	for what, body := range wrongAnswers() {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c, f, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
					if time.Since(began) < 10*time.Second {
						return text2response(200, "application/json", body), nil
					}
					if req.URL.Path == "/readyz" {
						return text2response(200, "text/plain", "ok"), nil
					}
					return ok(req), nil
				})
				f.posing = true
				if err := c.requests.Ready(t.Context()); err == nil && what != "no JSON" { // which is OK
					t.Errorf("Ready accepted a wrong answer: %v", err)
				}
				time.Sleep(10 * time.Second)
				if err := c.requests.Ready(t.Context()); err != nil {
					t.Errorf("Ready refused the answer of the API server: %v", err)
				}
			})
		})
	}
}
