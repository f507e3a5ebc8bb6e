package kinds

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/answer"
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
	d.known.forget(kind.GVK)
	return d.unlisted(ctx, kind.GVK, &l)
}

// Gone returns the error for an answer by which the server no longer serves a kind: a
// *NoKindError, with a cause if that is uncertain.
func (d *Discovery) Gone(ctx context.Context, gvk schema.GroupVersionKind) error {
	d.known.forget(gvk)
	return d.unlisted(ctx, gvk, nil)
}

// Elsewhere returns the versions in which the server serves a kind that it does not serve
// in the requested one. An object whose manifest has an old version may exist under a
// newer one. For extensions, the former group of many of Kubernetes' own kinds, other
// groups count, too.
func (d *Discovery) Elsewhere(ctx context.Context, gvk schema.GroupVersionKind) ([]schema.GroupVersion, error) {
	var served []schema.GroupVersion
	err := d.look(ctx, "", func(t catalogue) error {
		served = t.elsewhere(gvk)
		return nil
	})
	return served, err
}

func (t catalogue) elsewhere(gvk schema.GroupVersionKind) []schema.GroupVersion {
	var served []schema.GroupVersion
	for _, group := range t.groups {
		if group.Group.Name != gvk.Group && (gvk.Group != "extensions" || !answer.KubernetesOwn(group.Group.Name)) {
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
