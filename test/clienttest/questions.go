package clienttest

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Status returns the body of an answer that is a Status.
func Status(s metav1.Status) string {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	text, _ := json.Marshal(s)
	return string(text)
}

// WrongAnswers returns bodies, sent with status 200, none of which answers any of our requests.
func WrongAnswers() map[string]string {
	failed := func(code int32, reason metav1.StatusReason) string {
		return Status(metav1.Status{
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
		"success without details":    Status(metav1.Status{Status: metav1.StatusSuccess}),
		"success for another object": Status(metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: "z", UID: "z"}}),
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

// Question is a kind of request.
type Question struct {
	Name string
	Ask  func(ctx context.Context, c *client.Client) error
}

// Questions returns all kinds of requests but the count of the contents of a namespace.
func Questions() []Question {
	ref := RefTo(ConfigMaps(), "a")
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	live := func() *unstructured.Unstructured {
		u := VersionOf("a", "1", "7")
		u.SetFinalizers([]string{"example.com/f"})
		return u
	}
	many := func(n int) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			refs := ManyRefs(n)
			refs[0] = ref
			var errs []error
			c.Live(ctx, ConfigMaps(), refs, func(i int, live *unstructured.Unstructured, err error) {
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
	return []Question{
		{"Get", func(ctx context.Context, c *client.Client) error { _, err := c.Get(ctx, ConfigMaps(), ref); return err }},
		{"Apply", func(ctx context.Context, c *client.Client) error {
			_, err := c.Apply(ctx, ConfigMaps(), NewObject(ConfigMaps(), "a"), write)
			return err
		}},
		{"Update", func(ctx context.Context, c *client.Client) error {
			_, err := c.Update(ctx, ConfigMaps(), live(), write)
			return err
		}},
		{"SetManagedFields", func(ctx context.Context, c *client.Client) error {
			_, err := c.SetManagedFields(ctx, ConfigMaps(), live(), nil)
			return err
		}},
		{"Delete", func(ctx context.Context, c *client.Client) error {
			_, err := c.Delete(ctx, ConfigMaps(), ref, object.Deletion{UID: "1"})
			return err
		}},
		{"Delete, unseen", func(ctx context.Context, c *client.Client) error {
			_, err := c.Delete(ctx, ConfigMaps(), ref, object.Deletion{})
			return err
		}},
		{"RemoveFinalizer", func(ctx context.Context, c *client.Client) error {
			_, err := c.RemoveFinalizer(ctx, ConfigMaps(), live(), "example.com/f")
			return err
		}},
		{"Live, each", many(1)},
		{"Live, a list", many(Many)},
		{"Select", func(ctx context.Context, c *client.Client) error {
			return c.Select(ctx, ConfigMaps().GVK, object.Selection{Namespace: "prod"}, "", func(*unstructured.Unstructured) {})
		}},
		{"Exists", func(ctx context.Context, c *client.Client) error { _, err := c.Exists(ctx, ref); return err }},
		{"Names", func(ctx context.Context, c *client.Client) error {
			_, err := c.Names(ctx, ConfigMaps(), object.Selection{Namespace: "prod"})
			return err
		}},
		{"Permitted", func(ctx context.Context, c *client.Client) error {
			_, err := c.Permitted(ctx, ConfigMaps(), ref, "get")
			return err
		}},
		{"Version", func(ctx context.Context, c *client.Client) error { _, err := c.Version(ctx); return err }},
		{"Kind", func(ctx context.Context, c *client.Client) error { _, err := c.Kind(ctx, gvk); return err }},
		{"Served", func(ctx context.Context, c *client.Client) error { _, err := c.Served(ctx, gvk, 0); return err }},
		{"Resource", func(ctx context.Context, c *client.Client) error { _, err := c.Resource(ctx, "things"); return err }},
		{"Resources", func(ctx context.Context, c *client.Client) error { _, err := c.Resources(ctx, "all"); return err }},
		{"TypeNames", func(ctx context.Context, c *client.Client) error { _, err := c.TypeNames(ctx); return err }},
		{"Elsewhere", func(ctx context.Context, c *client.Client) error { _, err := c.Elsewhere(ctx, gvk); return err }},
		{"Schema", func(ctx context.Context, c *client.Client) error { _, err := c.Schema(ctx, ConfigMaps()); return err }},
		{"NoRetry.Get", func(ctx context.Context, c *client.Client) error {
			_, err := c.NoRetry().Get(ctx, ConfigMaps().GVK, "prod", "a")
			return err
		}},
		{"NoRetry.Select", func(ctx context.Context, c *client.Client) error {
			return c.NoRetry().Select(ctx, ConfigMaps().GVK, object.Selection{Namespace: "prod"}, "", func(*unstructured.Unstructured) {})
		}},
		{"NoRetry.Metadata", func(ctx context.Context, c *client.Client) error {
			_, err := c.NoRetry().Metadata(ctx, ConfigMaps().GVK, object.Selection{Namespace: "prod"})
			return err
		}},
		{"NoRetry.Kinds", func(ctx context.Context, c *client.Client) error { _, err := c.NoRetry().Kinds(ctx); return err }},
		{"NoRetry.DryRunRemoveFinalizer", func(ctx context.Context, c *client.Client) error {
			return c.NoRetry().DryRunRemoveFinalizer(ctx, ref, live(), "example.com/f")
		}},
		{"NoRetry.Allowed", func(ctx context.Context, c *client.Client) error {
			_, err := c.NoRetry().Allowed(ctx, "", "get", ref)
			return err
		}},
		{"Watch", watchFalsely(object.Selection{Namespace: "prod"})},
		{"Watch by name", watchFalsely(object.Selection{Namespace: "prod", Name: "a"})},
	}
}

// watchFalsely returns the error that ended a watch. If the watch reported any change, it returns
// an error that says so.
func watchFalsely(sel object.Selection) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		var message error
		err := c.Watch(ctx, Watched(), sel, func(change object.Change) {
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
