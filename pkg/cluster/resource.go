package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Resource finds the kind that is meant by a TYPE as kubectl takes it: deploy,
// deployments, Deployment, deployments.apps, deployments.v1.apps. Where several
// groups have it, that comes first which the server names first, in the version
// that it prefers. The error is a *NoTypeError if the server serves none; asked
// again later, it looks anew.
func (c *Client) Resource(ctx context.Context, text string) (object.Kind, error) {
	var gvk schema.GroupVersionKind
	err := c.look(ctx, text, func(t catalogue) (err error) {
		gvk, err = t.kindOf(ctx, text)
		return err
	})
	if err != nil {
		return object.Kind{}, err
	}
	return c.kindOfType(ctx, text, gvk)
}

// Resources is Resource for a TYPE that may also be a category, such as all: the
// kinds that are in it.
func (c *Client) Resources(ctx context.Context, text string) ([]object.Kind, error) {
	var gvks []schema.GroupVersionKind
	err := c.look(ctx, text, func(t catalogue) error {
		gvks = gvks[:0]
		members, _ := restmapper.NewDiscoveryCategoryExpanderWithContext(c.discovery).ExpandWithContext(quietly(ctx), text)
		for _, member := range members {
			gvk, err := t.mapper.KindForWithContext(ctx, member.WithVersion(""))
			if err != nil {
				return err
			}
			gvks = append(gvks, gvk)
		}
		if len(members) > 0 {
			return nil
		}
		gvk, err := t.kindOf(ctx, text)
		gvks = append(gvks, gvk)
		return err
	})
	if err != nil {
		return nil, err
	}
	kinds := make([]object.Kind, len(gvks))
	for i, gvk := range gvks {
		if kinds[i], err = c.kindOfType(ctx, text, gvk); err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

// kindOfType makes sure of a kind that the cache has.
func (c *Client) kindOfType(ctx context.Context, text string, gvk schema.GroupVersionKind) (object.Kind, error) {
	kind, err := c.Kind(ctx, gvk)
	if missing, ok := errors.AsType[*NoKindError](err); ok {
		return kind, &NoTypeError{Type: text, Err: missing.Err}
	}
	return kind, err
}

// TypeNames returns the names by which kubectl lists the server's types that can
// be got: deployments.apps, pods. It is what a shell completes a TYPE to.
func (c *Client) TypeNames(ctx context.Context) ([]string, error) {
	var names []string
	err := c.look(ctx, "", func(t catalogue) error {
		names = t.names(func(gr schema.GroupResource, _ metav1.APIResource) []string { return []string{gr.String()} })
		return nil
	})
	return names, err
}

// renewAfter is how old what is known of the server's kinds may be to be believed
// about what it does not serve.
const renewAfter = time.Second

// look calls find with all that the server serves, and again with what it serves
// now, if find does not find it in what a cache has.
func (c *Client) look(ctx context.Context, text string, find func(catalogue) error) error {
	unlock, err := c.kinds.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var t catalogue
	for renewed := time.Since(c.kinds.read) < renewAfter; ; renewed = true {
		if t, err = c.catalogue(ctx); err != nil {
			return err
		}
		err = find(t)
		if !meta.IsNoMatchError(err) || renewed {
			break
		}
		c.discovery.InvalidateWithContext(ctx)
		c.kinds.read = time.Now()
	}
	if meta.IsNoMatchError(err) {
		return &NoTypeError{Type: text, Near: t.near(text), Err: t.unknown}
	}
	return err
}

// refresh drops what the cache knows from before this run.
func (c *Client) refresh(ctx context.Context) error {
	unlock, err := c.kinds.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if time.Since(c.kinds.read) > refreshAfter {
		c.discovery.InvalidateWithContext(ctx)
		c.kinds.read = time.Now()
	}
	return nil
}

// refreshAfter is how long what this run has read itself is believed as a whole.
const refreshAfter = time.Minute

// catalogue is what the server serves.
type catalogue struct {
	mapper meta.RESTMapperWithContext
	groups []*restmapper.APIGroupResources
	// unknown names the groups of which it can not be told, their servers being
	// away (edge case 21).
	unknown error
}

// catalogue reads what the server serves, from the cache where that is filled.
func (c *Client) catalogue(ctx context.Context) (catalogue, error) {
	var t catalogue
	err := c.do(ctx, request{bulk: true}, func(ctx context.Context) error {
		var err error
		t.groups, err = restmapper.GetAPIGroupResourcesWithContext(quietly(ctx), c.discovery)
		if err != nil && classify(err, request{}) != final {
			c.discovery.InvalidateWithContext(ctx) // It would remember the error.
		}
		return err
	})
	if err != nil {
		return t, err
	}
	t.mapper = restmapper.NewShortcutExpanderWithContext(
		restmapper.NewDiscoveryRESTMapperWithContext(t.groups), c.discovery, func(string) {})
	_, _, err = c.discovery.ServerGroupsAndResourcesWithContext(quietly(ctx))
	if failed, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		var names []string
		for gv := range failed.Groups {
			names = append(names, gv.String())
		}
		t.unknown = fmt.Errorf("of %s it can not be told, for the server behind it does not answer", strings.Join(sortedOnce(names), ", "))
	}
	return t, nil
}

// kindOf reads a TYPE: as a resource, in its three forms and by its short names,
// else as a kind.
func (t catalogue) kindOf(ctx context.Context, text string) (schema.GroupVersionKind, error) {
	full, resource := schema.ParseResourceArg(strings.ToLower(text))
	if full != nil {
		if gvk, err := t.mapper.KindForWithContext(ctx, *full); err == nil {
			return gvk, nil
		}
	}
	gvk, err := t.mapper.KindForWithContext(ctx, resource.WithVersion(""))
	if err == nil {
		return gvk, nil
	}
	fullKind, kind := schema.ParseKindArg(text)
	if fullKind != nil {
		if mapping, err := t.mapper.RESTMappingWithContext(ctx, fullKind.GroupKind(), fullKind.Version); err == nil {
			return t.mapper.KindForWithContext(ctx, mapping.Resource) // A mapping has the kind as it was typed.
		}
	}
	if mapping, kindErr := t.mapper.RESTMappingWithContext(ctx, kind); kindErr == nil {
		return t.mapper.KindForWithContext(ctx, mapping.Resource)
	}
	return schema.GroupVersionKind{}, err
}

// names returns what name makes of each type, in order and each once. Of a group's
// versions, the preferred one counts.
func (t catalogue) names(name func(schema.GroupResource, metav1.APIResource) []string) []string {
	var names []string
	for _, group := range t.groups {
		for _, r := range group.VersionedResources[group.Group.PreferredVersion.Version] {
			if strings.Contains(r.Name, "/") {
				continue
			}
			names = append(names, name(schema.GroupResource{Group: group.Group.Name, Resource: r.Name}, r)...)
		}
	}
	return sortedOnce(names)
}
