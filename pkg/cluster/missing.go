package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/answer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// absent tells a kind that is not served from an object that does not exist, of
// which an aggregated API may say no more than that: its 404 names nothing.
func (c *Client) absent(ctx context.Context, kind object.Kind, err error) error {
	if c.kinds.isTerse(kind.GVK) {
		return err
	}
	l, asked := c.listed(ctx, kind.GVK.GroupVersion())
	if asked != nil {
		return asked
	}
	if _, missing := find(&l.kinds, kind.GVK); missing == nil {
		c.kinds.setTerse(kind.GVK)
		return err
	}
	c.kinds.forget(kind.GVK)
	return c.unlisted(ctx, kind.GVK, &l)
}

// Elsewhere returns the versions in which the server serves a kind that it does not
// serve in the one that is asked for. An object that was written down with a version
// of old may well be there, under a newer one. Of extensions, which is where many of
// Kubernetes' own kinds once were, other groups count, too.
func (c *Client) Elsewhere(ctx context.Context, gvk schema.GroupVersionKind) ([]schema.GroupVersion, error) {
	var served []schema.GroupVersion
	err := c.look(ctx, "", func(t catalogue) error {
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
