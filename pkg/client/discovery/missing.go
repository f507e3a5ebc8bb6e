package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Absent distinguishes a kind that is not served from an object that does not exist. An
// aggregated API may answer both with the same 404, which names nothing.
func (d *Discovery) Absent(ctx context.Context, kind object.Kind, err error) error {
	if d.known.isTerse(kind.GVK) {
		return err
	}
	l, asked := d.listed(ctx, kind.GVK.GroupVersion())
	if asked != nil {
		return asked
	}
	if _, missing := find(&l.kinds, kind.GVK); missing == nil {
		d.known.setTerse(kind.GVK)
		return err
	}
	return d.Gone(ctx, kind.GVK)
}

// errServedBefore makes the absence of a kind uncertain: one of several API servers may lag
// behind, or this one may be busy.
var errServedBefore = errors.New("it was served a moment ago")

// Gone returns the error for an answer by which the server no longer serves a kind: a
// *NoKindError, with a cause if that is uncertain. A caller may be waiting for just that, and
// anything in the server's place answers 404, so the server is asked for everything that it
// serves. It may list the kind in another version, in which the objects are still there.
func (d *Discovery) Gone(ctx context.Context, gvk schema.GroupVersionKind) error {
	d.known.forget(gvk)
	elsewhere, err := d.servedElsewhere(ctx, gvk)
	if against, ok := errors.AsType[*contradiction](err); ok {
		err = transport.NoAnswer(transport.Wrong("%s", against.text))
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && elsewhere.Empty() && d.NewlyServed(gvk):
		err = transport.NoAnswer(errServedBefore)
	case err == nil && !elsewhere.Empty():
		err = &object.HintedError{
			Err:    fmt.Errorf("it does in %s", elsewhere),
			Advice: "its objects are still there, under that version",
		}
	}
	return &NoKindError{GVK: gvk, Err: err}
}

// contradiction says that the server's answers about what it serves differ from place to
// place.
type contradiction struct{ text string }

func (e *contradiction) Error() string { return e.text }

// servedElsewhere returns another version in which the server serves a kind that was not
// found; empty if there is none. It asks until the answers agree, since they lag behind each
// other when a definition comes or goes. If they never do, the error is a *contradiction.
func (d *Discovery) servedElsewhere(ctx context.Context, gvk schema.GroupVersionKind) (other schema.GroupVersion, err error) {
	ended := until(ctx, d.timeout, func() bool {
		var now *served
		if now, err = d.everything(ctx); err == nil {
			other, err = now.elsewhere(gvk)
		}
		return !errors.As(err, new(*contradiction))
	})
	return other, cmp.Or(ended, err)
}

// elsewhere looks for another version of a kind that was not found in its own.
func (s *served) elsewhere(gvk schema.GroupVersionKind) (schema.GroupVersion, error) {
	if gvk.Group == "" && s.lists[gvk.GroupVersion()] == nil {
		return schema.GroupVersion{}, &contradiction{"the core kinds are not listed"}
	}
	for _, group := range s.groups.Groups {
		if group.Name != gvk.Group {
			continue
		}
		for _, v := range group.Versions {
			gv := schema.GroupVersion{Group: group.Name, Version: v.Version}
			switch err := s.failed[gv]; {
			case apierrors.IsNotFound(err):
				return schema.GroupVersion{}, &contradiction{fmt.Sprintf("%s is listed among the versions, but not found", gv)}
			case errors.As(err, new(discovery.StaleGroupVersionError)):
				return schema.GroupVersion{}, errDeadAPI
			case err != nil:
				return schema.GroupVersion{}, err
			}
			switch served := s.has(gv.WithKind(gvk.Kind)); {
			case served && gv == gvk.GroupVersion():
				return schema.GroupVersion{}, &contradiction{"it is listed among the kinds, but not found"}
			case served:
				return gv, nil
			}
		}
	}
	return schema.GroupVersion{}, nil
}

// has reports whether a kind is in the lists.
func (s *served) has(gvk schema.GroupVersionKind) bool {
	list := s.lists[gvk.GroupVersion()]
	if list == nil {
		return false
	}
	_, err := find(list, gvk)
	return err == nil
}

// Elsewhere returns the versions in which the server serves a kind that it does not serve
// in the requested one. An object whose manifest has an old version may exist under a
// newer one. For extensions, the former group of many of Kubernetes' own kinds, other
// groups count, too.
func (d *Discovery) Elsewhere(ctx context.Context, gvk schema.GroupVersionKind) ([]schema.GroupVersion, error) {
	var served []schema.GroupVersion
	err := d.search(ctx, "", func(t catalogue) error {
		served = t.elsewhere(gvk)
		return nil
	})
	return served, err
}

func (t catalogue) elsewhere(gvk schema.GroupVersionKind) []schema.GroupVersion {
	var served []schema.GroupVersion
	for _, group := range t.groups {
		if group.Group.Name != gvk.Group && (gvk.Group != "extensions" || !transport.KubernetesOwn(group.Group.Name)) {
			continue
		}
		for _, v := range group.Group.Versions {
			gv := schema.GroupVersion{Group: group.Group.Name, Version: v.Version}
			_, err := find(&metav1.APIResourceList{APIResources: group.VersionedResources[v.Version]}, gv.WithKind(gvk.Kind))
			if err == nil && gv != gvk.GroupVersion() {
				served = append(served, gv)
			}
		}
	}
	return served
}
