package tracker

import (
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// kind is a kind of objects, at the version at which it is watched.
type kind struct {
	resource   schema.GroupVersionResource
	name       string
	namespaced bool
}

// leftOut are kinds whose owners say nothing of interest: what machines write to
// all the time, and what we write.
func leftOut() []schema.GroupResource {
	return []schema.GroupResource{
		{Group: "", Resource: "events"},
		{Group: "events.k8s.io", Resource: "events"},
		{Group: "", Resource: "endpoints"},
		{Group: "discovery.k8s.io", Resource: "endpointslices"},
		{Group: "coordination.k8s.io", Resource: "leases"},
		{Group: "coordination.k8s.io", Resource: "leasecandidates"},
		{Group: ownership.RecordGroup, Resource: ownership.RecordPlural},
	}
}

// kinds are those to watch.
type kinds map[schema.GroupResource]kind

// selectKinds returns the kinds that can be watched, of what discovery has found,
// without those that are excluded. Of a group that discovery could not read now, it
// keeps those that were there before.
func selectKinds(found []*metav1.APIResourceList, err error, before kinds, excluded []schema.GroupResource) (kinds, error) {
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return before, err
	}
	out := kinds{}
	for _, list := range found {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if k := kindOf(gv, r); watchable(r) && !slices.Contains(excluded, k.resource.GroupResource()) {
				out[k.resource.GroupResource()] = k
			}
		}
	}
	if partly == nil {
		return out, nil
	}
	for gv := range partly.Groups {
		for name, k := range before {
			if _, found := out[name]; !found && name.Group == gv.Group {
				out[name] = k
			}
		}
	}
	return out, err
}

func kindOf(gv schema.GroupVersion, r metav1.APIResource) kind {
	if r.Group != "" {
		gv.Group = r.Group
	}
	if r.Version != "" {
		gv.Version = r.Version
	}
	return kind{resource: gv.WithResource(r.Name), name: r.Kind, namespaced: r.Namespaced}
}

func watchable(r metav1.APIResource) bool {
	return slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
}

// differ returns what there is now that was not, or at another version, and what
// there is not any more.
func (k kinds) differ(before kinds) (come, gone []kind) {
	for name, now := range k {
		if was, ok := before[name]; !ok || was != now {
			come = append(come, now)
		}
	}
	for name, was := range before {
		if _, ok := k[name]; !ok {
			gone = append(gone, was)
		}
	}
	return come, gone
}

// affects tells whether a change of an object of a resource may change which kinds
// there are.
func affects(r schema.GroupResource) bool {
	return r.Group == "apiextensions.k8s.io" && r.Resource == "customresourcedefinitions" ||
		r.Group == "apiregistration.k8s.io" && r.Resource == "apiservices"
}
