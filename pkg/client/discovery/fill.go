package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// fill puts everything that the server serves into the cache.
func (d *Discovery) fill(ctx context.Context) error {
	_, err := d.everything(ctx)
	return err
}

// everything asks the server for everything that it serves: for the core and for the groups
// at once. Until both have answered, the cache has what it had.
func (d *Discovery) everything(ctx context.Context) (*served, error) {
	var core, groups served
	all, within := errgroup.WithContext(ctx)
	for path, part := range map[string]*served{"/api": &core, "/apis": &groups} {
		all.Go(func() error {
			return d.requests.Do(within, transport.Request{Bulk: true, Patience: forGroups}, func(ctx context.Context) (err error) {
				*part, err = d.part(ctx, path)
				return err
			})
		})
	}
	if err := all.Wait(); err != nil {
		return nil, ofServer(err)
	}
	said := join(core, groups)
	if !said.whole {
		d.listEach(ctx, &said)
	}
	d.cache.answer(&said)
	return &said, nil
}

// part asks for a part of everything.
func (d *Discovery) part(ctx context.Context, path string) (served, error) {
	var contentType string
	result := d.cache.live.RESTClient().Get().AbsPath(path).
		SetHeader("Accept", discovery.AcceptV2+","+discovery.AcceptV1).Do(quietly(ctx)).ContentType(&contentType)
	body, err := result.Raw()
	if err != nil {
		err = result.Error() // It has the server's own words, which Raw does not decode.
	}
	switch {
	case path == "/api" && apierrors.IsNotFound(err): // A server that only serves groups need not have it.
		return served{groups: &metav1.APIGroupList{}, whole: true}, nil
	case apierrors.IsNotFound(err): // Every server has them, so it was none that answered.
		return served{}, transport.Wrong("/apis is not found")
	case err != nil:
		return served{}, err
	}
	if aggregated, _ := discovery.ContentTypeIsGVK(contentType, apidiscoveryv2.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")); aggregated {
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(body, &list); err != nil {
			return served{}, err
		}
		groups, lists, failed := discovery.SplitGroupsAndResources(list)
		return served{groups: groups, lists: lists, failed: failed, whole: true}, nil
	}
	if path == "/api" {
		var versions metav1.APIVersions
		err := json.Unmarshal(body, &versions)
		return served{groups: coreGroup(versions)}, err
	}
	var groups metav1.APIGroupList
	err = json.Unmarshal(body, &groups)
	return served{groups: &groups}, err
}

// coreGroup lists the versions of the core as those of a group without a name.
func coreGroup(versions metav1.APIVersions) *metav1.APIGroupList {
	var group metav1.APIGroup
	for _, v := range versions.Versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: v, Version: v})
	}
	if len(group.Versions) > 0 {
		group.PreferredVersion = group.Versions[0]
	}
	return &metav1.APIGroupList{Groups: []metav1.APIGroup{group}}
}

// join returns the core and the groups, the core first. Lists count only if both have them.
func join(core, groups served) served {
	all := served{
		groups: &metav1.APIGroupList{Groups: append(core.groups.Groups, groups.groups.Groups...)},
		lists:  map[schema.GroupVersion]*metav1.APIResourceList{},
		failed: map[schema.GroupVersion]error{},
		whole:  core.whole && groups.whole,
	}
	for _, part := range []served{core, groups} {
		if all.whole {
			maps.Copy(all.lists, part.lists)
		}
		maps.Copy(all.failed, part.failed)
	}
	return all
}

// listEach asks a server without aggregated discovery for the kinds of each group version, at
// once. One that does not say is asked again when a kind of it is wanted.
func (d *Discovery) listEach(ctx context.Context, said *served) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, group := range said.groups.Groups {
		for _, v := range group.Versions {
			all.Go(func() {
				gv := schema.GroupVersion{Group: group.Name, Version: v.Version}
				var list *metav1.APIResourceList
				err := d.requests.Once(ctx, transport.Request{Bulk: true, Quiet: true, Patience: forKinds}, func(ctx context.Context) (err error) {
					list, err = d.cache.live.ServerResourcesForGroupVersionWithContext(quietly(ctx), gv.String())
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					said.failed[gv] = err
					return
				}
				said.lists[gv] = list
			})
		}
	}
	all.Wait()
}

// list returns the kinds of a group version as the cache has them; nil if it has none. Groups that
// a server without aggregated discovery left out are requested again.
func (d *Discovery) list(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	list, err := d.cache.list(gv)
	if err == nil || errors.As(err, new(discovery.StaleGroupVersionError)) {
		return list, err
	}
	err = d.requests.Do(ctx, transport.Request{Ref: ofGroup(gv), Bulk: true, Patience: forKinds}, func(ctx context.Context) (err error) {
		list, err = d.cache.live.ServerResourcesForGroupVersionWithContext(quietly(ctx), gv.String())
		return err
	})
	return list, err
}

// ofGroup is what a request for the kinds of a group version is about.
func ofGroup(gv schema.GroupVersion) object.Ref { return object.Ref{GVK: gv.WithKind("")} }
