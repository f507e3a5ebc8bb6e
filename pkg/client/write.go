package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// noVersion is the resource version of an empty store. An apply with this version creates a missing
// object, and conflicts with an existing one.
const noVersion = "1"

// Apply sends a server-side apply and returns the stored object, or the result of a dry run.
func (c *Client) Apply(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	if how.Create {
		obj = object.AtVersion(obj, noVersion)
	}
	return c.write(ctx, kind, obj, how, transport.Request{Creates: how.Create}, func() *rest.Request {
		r := c.rest.Patch(types.ApplyPatchType)
		if how.Force {
			r = r.Param("force", "true")
		}
		return r
	}, obj.GetName())
}

// Create creates the object. The error is AlreadyExists if an object of that name exists.
func (c *Client) Create(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	return c.write(ctx, kind, obj, how, transport.Request{Guarded: true}, c.rest.Post)
}

// Merge sends a merge patch. The error is a conflict if the patch contains a resource version other
// than the object's.
func (c *Client) Merge(ctx context.Context, kind object.Kind, patch *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	patched := func() *rest.Request { return c.rest.Patch(types.MergePatchType) }
	return c.write(ctx, kind, patch, how, transport.Request{}, patched, patch.GetName())
}

// StrategicMerge sends a strategic merge patch. The server accepts one only for built-in kinds.
func (c *Client) StrategicMerge(ctx context.Context, kind object.Kind, patch *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	patched := func() *rest.Request { return c.rest.Patch(types.StrategicMergePatchType) }
	return c.write(ctx, kind, patch, how, transport.Request{}, patched, patch.GetName())
}

// Update replaces the object.
func (c *Client) Update(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	return c.write(ctx, kind, obj, how, transport.Request{}, c.rest.Put, obj.GetName())
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	return c.object(ctx, kind, transport.Request{Ref: ref}, func() *rest.Request {
		return c.rest.Get().AbsPath(transport.ResourcePath(kind, ref.Namespace, ref.Name)...)
	})
}

func (c *Client) write(
	ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write, q transport.Request, begin func() *rest.Request, path ...string,
) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.RefOf(obj), err)
	}
	q.Ref, q.Guarded = object.RefOf(obj), q.Guarded || obj.GetResourceVersion() != ""
	return c.object(ctx, kind, q, func() *rest.Request {
		r := begin().AbsPath(transport.ResourcePath(kind, obj.GetNamespace(), path...)...).Body(body).
			Param("fieldManager", how.Manager).Param("fieldValidation", cmp.Or(how.Validation, metav1.FieldValidationStrict))
		if how.DryRun {
			r = r.Param("dryRun", metav1.DryRunAll)
		}
		return r
	})
}

// object sends a request and returns the object in the response. It calls build for each attempt.
// The error is a *NoKindError if the server no longer serves the kind.
func (c *Client) object(ctx context.Context, kind object.Kind, q transport.Request, build func() *rest.Request) (*unstructured.Unstructured, error) {
	return c.answered(ctx, kind, q, build, func(body []byte) (*unstructured.Unstructured, error) {
		return transport.Object(body, kind)
	})
}

func (c *Client) answered(
	ctx context.Context, kind object.Kind, q transport.Request, build func() *rest.Request, decode func([]byte) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	q.NewlyServed = c.NewlyServed(kind.GVK)
	var out *unstructured.Unstructured
	err := c.requests.Do(ctx, q, func(ctx context.Context) error {
		body, err := transport.Read(ctx, build())
		if err != nil {
			return err
		}
		out, err = decode(body)
		return err
	})
	switch {
	case err == nil:
		return out, nil
	case transport.Unserved(err):
		return nil, c.Absent(ctx, kind, err)
	}
	return nil, err
}

// SetManagedFields replaces the managed fields. The error is a conflict if the object has changed
// since it was read.
func (c *Client) SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error) {
	return c.PutManagedFields(ctx, kind, live, fields, object.Write{})
}

// PutManagedFields is like SetManagedFields, but the write can have a manager's name or be a dry
// run. The manager would become an owner of everything else that the server changes in the write.
// To avoid that, PutManagedFields writes at a version of the kind at which the server changes
// nothing else, if there is one. The returned object has the requested version. The error is a
// *[TooLargeError] if the object would become too large.
func (c *Client) PutManagedFields(
	ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write,
) (*unstructured.Unstructured, error) {
	at, err := c.uncredited(ctx, kind, live, fields, how)
	if err != nil {
		return nil, err
	}
	answer, err := c.sendManagedFields(ctx, at, live, fields, how)
	if err == nil && keptNone(answer, fields) {
		return nil, c.putBack(ctx, at, live, answer, how)
	}
	if err != nil || at.GVK == kind.GVK {
		return answer, err
	}
	out := live.DeepCopy()
	out.SetResourceVersion(answer.GetResourceVersion())
	out.SetManagedFields(answer.GetManagedFields())
	return out, nil
}

func (c *Client) sendManagedFields(
	ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write,
) (*unstructured.Unstructured, error) {
	if len(fields) == 0 {
		// The server ignores an empty list, so that clients that do not know the field do not reset it
		// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields).
		fields = []any{map[string]any{}}
	}
	body, err := json.Marshal([]map[string]any{
		// An object can have none, so that there is nothing to replace.
		{"op": "add", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", object.RefOf(live), err)
	}
	q := transport.Request{Ref: object.RefOf(live), Guarded: true}
	return c.object(ctx, kind, q, func() *rest.Request {
		r := c.rest.Patch(types.JSONPatchType).AbsPath(transport.ResourcePath(kind, live.GetNamespace(), live.GetName())...).Body(body)
		if how.Manager != "" {
			r = r.Param("fieldManager", how.Manager)
		}
		if how.DryRun {
			r = r.Param("dryRun", metav1.DryRunAll)
		}
		return r
	})
}

// uncredited returns a version of the kind at which the write changes no other fields. If the write
// changed others, we would become their owner. uncredited tries the requested version first, and
// returns it if no version will do. A version may have a default that the stored version lacks.
// Each write at such a version sets the default again, while a write at the stored version changes
// nothing else. The server does not say which version is the stored one, so uncredited finds it
// with dry runs.
func (c *Client) uncredited(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write) (object.Kind, error) {
	if kind.GVK.Group == "" { // The core group has only one version.
		return kind, nil
	}
	others, err := c.Elsewhere(ctx, kind.GVK)
	if err != nil || len(others) == 0 {
		return kind, ctx.Err()
	}
	how.DryRun = true
	at := kind
	for _, gv := range append([]schema.GroupVersion{kind.GVK.GroupVersion()}, others...) {
		if gv.Group != kind.GVK.Group {
			continue
		}
		at.GVK.Version = gv.Version
		answer, err := c.sendManagedFields(ctx, at, live, fields, how)
		if err != nil && gv == kind.GVK.GroupVersion() {
			break
		}
		if err == nil && !credited(answer, fields) {
			return at, nil
		}
	}
	return kind, ctx.Err()
}

func credited(answer *unstructured.Unstructured, sent []any) bool {
	type owner struct{ manager, operation, apiVersion, subresource any }
	known := map[owner]any{}
	ownerOf := func(entry map[string]any) owner {
		return owner{entry["manager"], entry["operation"], entry["apiVersion"], entry["subresource"]}
	}
	for _, entry := range sent {
		if entry, ok := entry.(map[string]any); ok {
			known[ownerOf(entry)] = entry["fieldsV1"]
		}
	}
	now, _, _ := unstructured.NestedSlice(answer.Object, "metadata", "managedFields")
	for _, entry := range now {
		entry, ok := entry.(map[string]any)
		if ok && entry["operation"] == string(metav1.ManagedFieldsOperationUpdate) && exceeds(entry["fieldsV1"], known[ownerOf(entry)]) {
			return true
		}
	}
	return false
}

func exceeds(fields, others any) bool {
	has, _ := fields.(map[string]any)
	known, is := others.(map[string]any)
	if !is {
		return true
	}
	for name, below := range has {
		if at, is := known[name]; !is || exceeds(below, at) {
			return true
		}
	}
	return false
}

// TooLargeError says that managed fields make an object exceed the API server's size limit. The
// server stores such an object without any managed fields.
type TooLargeError struct {
	Ref object.Ref
	// Lost says why the previous managed fields could not be restored. If it is nil, nothing was
	// changed.
	Lost error
}

func (e *TooLargeError) Error() string {
	message := "with these managed fields, the object exceeds the API server's size limit, so the server dropped all managed fields; "
	if e.Lost == nil {
		return message + "the previous ones were restored"
	}
	return fmt.Sprintf("%sthe previous ones could not be restored: %v", message, e.Lost)
}

func (e *TooLargeError) Hint() string {
	if e.Lost == nil {
		return "each additional owner of a field makes the object larger: move fields instead of sharing them, or move fewer"
	}
	return "the object has no owners now: the next apply will conflict with before-first-apply over every difference; --force-conflicts or --take=all makes you its owner again"
}

func (e *TooLargeError) Unwrap() error { return e.Lost }

// Status returns the Status of a refusal if nothing was changed.
func (e *TooLargeError) Status() metav1.Status {
	if e.Lost != nil {
		return metav1.Status{Status: metav1.StatusFailure}
	}
	return apierrors.NewRequestEntityTooLargeError(e.Error()).ErrStatus
}

func keptNone(answer *unstructured.Unstructured, sent []any) bool {
	return len(sent) > 0 && len(answer.GetManagedFields()) == 0
}

// putBack restores managed fields after all of them were lost. If another client has applied the
// object meanwhile, the object has an owner again, and putBack restores nothing. An update by
// another client does not matter, because it sets no managed fields.
func (c *Client) putBack(ctx context.Context, kind object.Kind, live, answer *unstructured.Unstructured, how object.Write) error {
	out := &TooLargeError{Ref: object.RefOf(live)}
	before, _, _ := unstructured.NestedSlice(live.Object, "metadata", "managedFields")
	if len(before) == 0 {
		return out
	}
	ctx = context.WithoutCancel(ctx) // Finish even if interrupted: the object has no owners now.
	for attempts := retry.At(out.Ref); ; {
		attempts.OnRead(answer)
		if !keptNone(answer, before) {
			out.Lost = errors.New("another client applied the object in the meantime")
			return out
		}
		back, err := c.sendManagedFields(ctx, kind, answer, before, how)
		switch {
		case err == nil && keptNone(back, before):
			out.Lost = errors.New("the object is now too large even with those")
			return out
		case !apierrors.IsConflict(err):
			out.Lost = err
			return out
		}
		if out.Lost = attempts.Again(ctx); out.Lost != nil {
			return out
		}
		if answer, out.Lost = c.Get(ctx, kind, out.Ref); out.Lost != nil {
			return out
		}
	}
}
