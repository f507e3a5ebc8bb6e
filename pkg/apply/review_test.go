package apply

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// reviewed is a review of one version of each object. It gives a fixed answer for every other
// version.
type reviewed struct {
	version  string
	p        *predict.Prediction
	other    error
	compared int
}

func (r *reviewed) Judged(_ plan.Item, live *unstructured.Unstructured) *predict.Prediction {
	if (live == nil && r.version == "") || (live != nil && live.GetResourceVersion() == r.version) {
		return r.p
	}
	return nil
}

func (r *reviewed) Written(*predict.Prediction, *unstructured.Unstructured) error { return nil }

func (r *reviewed) Confirms(*predict.Prediction, *predict.Recreation) error {
	r.compared++
	return r.other
}

// A write names the reviewed version and UID, and uses the server's answer from the review. If a
// read or the write finds another version, the apply is predicted again and compared with the
// review.
func TestReview(t *testing.T) {
	other := errors.New("something else")
	at := func(version string) *unstructured.Unstructured {
		u := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: n, name: a, uid: u, resourceVersion: "`+version+`",
			managedFields: [{manager: k8sconnect, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}]}, data: {a: before}}`)
		return u
	}
	answer := func() *unstructured.Unstructured {
		u := at("7")
		u.Object["data"] = map[string]any{"a": "ours"}
		return u
	}
	for name, tc := range map[string]struct {
		review   reviewed
		live     string // its version; empty if there is none
		late     string // the version that comes before the write
		calls    []string
		result   string
		compared int
	}{
		"the reviewed version":                  {review: reviewed{version: "7"}, live: "7", calls: []string{"apply a"}, result: "a configured"},
		"another version with the same changes": {review: reviewed{version: "6"}, live: "7", calls: []string{"try a", "apply a"}, result: "a configured", compared: 1},
		"another version with other changes":    {review: reviewed{version: "6", other: other}, live: "7", calls: []string{"try a"}, result: "a failed", compared: 1},
		"another version with other changes appears before the write": {
			review: reviewed{version: "7", other: other}, live: "7", late: "8",
			calls: []string{"apply a", "get a", "try a"}, result: "a failed", compared: 1,
		},
		"a creation": {review: reviewed{}, calls: []string{"apply a"}, result: "a created"},
		"a creation that was not reviewed": {
			review: reviewed{version: "7", other: other}, calls: nil, result: "a failed", compared: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &fake{live: map[string]*unstructured.Unstructured{}}
			if tc.live != "" {
				server.live["a"] = at(tc.live)
			}
			server.apply = func(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
				out := answer()
				if live := server.found("a"); live != nil {
					out.SetResourceVersion(live.GetResourceVersion())
				}
				if how.DryRun {
					return out, nil
				}
				if tc.live != "" && (u.GetUID() != "u" || u.GetResourceVersion() != server.found("a").GetResourceVersion()) {
					t.Errorf("the write names UID %s and version %s, want those of the live object", u.GetUID(), u.GetResourceVersion())
				}
				if tc.late != "" {
					server.appear("a", at(tc.late))
					return nil, apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("modified"))
				}
				return out, nil
			}
			r := newRun(server)
			review := tc.review
			review.p = &predict.Prediction{Item: item(t, "a")}
			r.engine.Review = &review
			_ = r.engine.Run(t.Context(), phases([]plan.Item{item(t, "a")}))
			if diff := cmp.Diff(tc.calls, server.calls); diff != "" {
				t.Errorf("requests: %s", diff)
			}
			if diff := cmp.Diff([]string{tc.result}, r.results()); diff != "" {
				t.Error(diff)
			}
			if review.compared != tc.compared {
				t.Errorf("%d comparisons, want %d", review.compared, tc.compared)
			}
		})
	}
}
