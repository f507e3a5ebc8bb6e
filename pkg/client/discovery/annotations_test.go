package discovery_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// Only the metadata of a CRD is requested. If a CRD does not exist, or we may not read it, the
// result has no annotations. Other failures are errors.
func TestDefinitionAnnotations(t *testing.T) {
	const name = "widgets.example.com"
	kind := object.Kind{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Resource: "widgets"}
	want := map[string]string{"k8sconnect.io/ready": "self.a"}
	for of, tc := range map[string]struct {
		answer *http.Response
		want   map[string]string
		wrong  bool
	}{
		"there": {clienttest.Reply(200, metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: want},
		}), want, false},
		"not there":   {clienttest.Failure(404, metav1.StatusReasonNotFound, nil), nil, false},
		"forbidden":   {clienttest.Failure(403, metav1.StatusReasonForbidden, nil), nil, false},
		"bad request": {clienttest.Reply(400, metav1.Status{Reason: metav1.StatusReasonBadRequest, Code: 400}), nil, true},
	} {
		t.Run(of, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					if req.URL.Path != "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name || !strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadata") {
						t.Errorf("%s, %s", req.URL.Path, req.Header.Get("Accept"))
					}
					return tc.answer, nil
				})
				called, got, err := c.DefinitionAnnotations(t.Context(), kind)
				if diff := cmp.Diff(tc.want, got); diff != "" || called != name || (err != nil) != tc.wrong {
					t.Errorf("%s, %v, %s", called, err, diff)
				}
			})
		})
	}
}
