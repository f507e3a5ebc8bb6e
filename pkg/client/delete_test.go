package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// bodyOf decodes the body of a request.
func bodyOf(t *testing.T, req *http.Request) any {
	t.Helper()
	text, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	var body any
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// The request identifies the object by its UID.
func TestDelete(t *testing.T) {
	seconds := int64(1)
	for name, tt := range map[string]struct {
		how  object.Deletion
		want map[string]any
	}{
		"bare": {object.Deletion{}, map[string]any{}},
		"all": {
			object.Deletion{UID: "u", Propagation: metav1.DeletePropagationForeground, GracePeriod: &seconds, DryRun: true},
			map[string]any{
				"preconditions": map[string]any{"uid": "u"}, "propagationPolicy": "Foreground",
				"gracePeriodSeconds": float64(1), "dryRun": []any{"All"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					tt.want["kind"], tt.want["apiVersion"] = "DeleteOptions", "v1"
					if diff := cmp.Diff(any(tt.want), bodyOf(t, req)); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
					return clienttest.Reply(200, metav1.Status{
						TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Success",
						Details: &metav1.StatusDetails{Name: "a", Kind: "configmaps", UID: tt.how.UID},
					}), nil
				})
				left, err := c.Delete(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"), tt.how)
				if left != nil || err != nil {
					t.Errorf("%v, %v", left, err)
				}
			})
		})
	}
}

// If the answer to a deletion is a success that does not name the object, the client reads the
// object to find out whether it is gone.
func TestDeleteUnnamedSuccess(t *testing.T) {
	for name, there := range map[string]bool{"gone": false, "there": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					switch {
					case req.Method == http.MethodDelete:
						return clienttest.Text(200, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Success"}`), nil
					case there:
						return clienttest.OK(req), nil
					}
					return clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "configmaps", Name: "a"}), nil
				})
				left, err := c.Delete(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"), object.Deletion{UID: "u"})
				if err != nil || (left != nil) != there {
					t.Errorf("%v, %v", left, err)
				}
			})
		})
	}
}

// If an object has a finalizer, the deletion returns the object. A conflict is not retried, because
// another object has the name. If the answer to a deletion was lost, the retry finds no object.
func TestDeleteAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		answer   func(n int, req *http.Request) (*http.Response, error)
		is       func(error) bool
		requests int
	}{
		"still there": {func(_ int, req *http.Request) (*http.Response, error) { return clienttest.OK(req), nil }, nil, 1},
		"another": {func(int, *http.Request) (*http.Response, error) {
			return clienttest.Failure(409, metav1.StatusReasonConflict, &metav1.StatusDetails{Name: "a"}), nil
		}, apierrors.IsConflict, 1},
		"lost": {func(n int, req *http.Request) (*http.Response, error) {
			if n == 1 {
				return nil, io.ErrUnexpectedEOF
			}
			return clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: "a"}), nil
		}, apierrors.IsNotFound, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, _ := clienttest.New(t, tt.answer)
				left, err := c.Delete(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"), object.Deletion{UID: "u"})
				if tt.is == nil && (err != nil || left.GetName() != "a") || tt.is != nil && !tt.is(err) {
					t.Errorf("%v, %v", left, err)
				}
				if n := f.Count("DELETE"); n != tt.requests {
					t.Errorf("%d requests, want %d", n, tt.requests)
				}
			})
		})
	}
}

// Edge case 69: the request removes only the named finalizer, and only from this object at this
// version.
func TestRemoveFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := clienttest.NewObject(clienttest.ConfigMaps(), "a")
		live.SetUID("u")
		live.SetResourceVersion("7")
		live.SetFinalizers([]string{"x/1", "x/2"})
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			want := []any{
				map[string]any{"op": "add", "path": "/metadata/finalizers", "value": []any{"x/2"}},
				map[string]any{"op": "replace", "path": "/metadata/uid", "value": "u"},
				map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
			}
			if diff := cmp.Diff(any(want), bodyOf(t, req)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return clienttest.Failure(409, metav1.StatusReasonConflict, &metav1.StatusDetails{Name: "a"}), nil
		})
		if _, err := c.RemoveFinalizer(t.Context(), clienttest.ConfigMaps(), live, "x/1"); !apierrors.IsConflict(err) {
			t.Error(err)
		}
		if left, err := c.RemoveFinalizer(t.Context(), clienttest.ConfigMaps(), live, "x/3"); err != nil || left != live {
			t.Errorf("removal of a finalizer that is absent: %v, %v", left, err)
		}
		if n := f.Count("PATCH"); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// A finalizer in the spec of a namespace is removed by a request to /finalize that is bound to the
// version that was read.
func TestRemoveFinalizerOfASpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespaces := object.Kind{GVK: clienttest.ConfigMaps().GVK.GroupVersion().WithKind("Namespace"), Resource: "namespaces"}
		live := clienttest.NewObject(namespaces, "a")
		live.SetNamespace("")
		live.SetUID("u")
		live.SetResourceVersion("7")
		live.SetFinalizers([]string{"x/1"})
		live.Object["spec"] = map[string]any{"finalizers": []any{"kubernetes", "x/2"}}
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			want := live.DeepCopy()
			want.Object["spec"] = map[string]any{"finalizers": []any{"kubernetes"}}
			if diff := cmp.Diff(any(want.Object), bodyOf(t, req)); diff != "" || req.URL.Path != "/api/v1/namespaces/a/finalize" {
				t.Errorf("%s (-want +got):\n%s", req.URL.Path, diff)
			}
			return clienttest.Failure(409, metav1.StatusReasonConflict, &metav1.StatusDetails{Name: "a"}), nil
		})
		if _, err := c.RemoveFinalizer(t.Context(), namespaces, live, "x/2"); !apierrors.IsConflict(err) {
			t.Error(err)
		}
		if n := f.Count("PUT"); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// The instances of a CRD are counted by one small request.
func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		definition := clienttest.NewObject(object.Kind{GVK: clienttest.ConfigMaps().GVK.GroupVersion().WithKind("CustomResourceDefinition")}, "widgets.example.com")
		definition.SetAPIVersion("apiextensions.k8s.io/v1")
		definition.Object["spec"] = map[string]any{
			"group": "example.com", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
			"versions": []any{map[string]any{"name": "v1alpha1", "served": false}, map[string]any{"name": "v1", "served": true}},
		}
		remaining := int64(41)
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path != "/apis/example.com/v1/widgets" || req.URL.Query().Get("limit") != "1" {
				t.Errorf("asked for %s", req.URL)
			}
			return clienttest.Reply(200, metav1.PartialObjectMetadataList{
				TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
				ListMeta: metav1.ListMeta{ResourceVersion: "1", Continue: "more", RemainingItemCount: &remaining},
				Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}},
			}), nil
		})
		if n, err := c.Count(t.Context(), definition); n != 42 || err != nil || f.Count("GET") != 1 {
			t.Errorf("%d, %v after %d requests", n, err, f.Count("GET"))
		}
	})
}
