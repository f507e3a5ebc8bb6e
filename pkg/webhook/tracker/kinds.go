package tracker

import (
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

type kind struct {
	resource   schema.GroupVersionResource
	name       string
	namespaced bool
}

// leftOut returns the kinds that are not tracked: OwnershipRecords, and kinds that controllers
// write all the time.
func leftOut() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: "", Kind: "Event"},
		{Group: "events.k8s.io", Kind: "Event"},
		{Group: "", Kind: "Endpoints"},
		{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
		{Group: "coordination.k8s.io", Kind: "Lease"},
		{Group: "coordination.k8s.io", Kind: "LeaseCandidate"},
		{Group: ownership.RecordGroup, Kind: ownership.RecordKind},
	}
}

type kinds map[schema.GroupResource]kind

// selectKinds returns the kinds to track. If a group could not be read, it retains the group's
// previous kinds.
func selectKinds(found []*metav1.APIResourceList, err error, before kinds, excluded []schema.GroupKind) (kinds, error) {
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
			if k := kindOf(gv, r); slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") &&
				!slices.Contains(excluded, schema.GroupKind{Group: k.resource.Group, Kind: k.name}) {
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

// hasOwn reports whether discovery has found Kubernetes' own kinds, both in the core group and in
// other groups. Discovery sends separate requests for the core group and for the other groups.
func hasOwn(found []*metav1.APIResourceList) bool {
	core, others := false, false
	for _, list := range found {
		if list.GroupVersion != "v1" {
			others = true
			continue
		}
		core = slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "configmaps" })
	}
	return core && others
}

// goneAfter is how long a kind must be missing from all responses before it counts as gone. A
// single response may be wrong, and a kind that counts as gone loses its history.
const goneAfter = 5 * time.Second

// absent maps each known kind that is missing from discovery to the time of the first response
// without it.
type absent struct {
	since        map[schema.GroupResource]time.Time
	contradicted []string // the absent kinds that are served nevertheless
}

// isGone reports whether a kind is gone: it has been missing from all responses for a while, and a
// request confirms that it is not served.
func (a *absent) isGone(name schema.GroupResource, now time.Time, served func() bool) bool {
	if a.since == nil {
		a.since = map[schema.GroupResource]time.Time{}
	}
	since, noted := a.since[name]
	if !noted {
		a.since[name] = now
		return false
	}
	if now.Sub(since) < goneAfter {
		return false
	}
	if served() {
		a.since[name] = now
		a.contradicted = append(a.contradicted, name.String())
		return false
	}
	delete(a.since, name)
	return true
}

func (a *absent) takeContradicted() []string {
	names := a.contradicted
	a.contradicted = nil
	slices.Sort(names)
	return names
}

func (a *absent) keepUnreadable(found, before kinds, now time.Time, served func(kind) bool) kinds {
	for name := range found {
		delete(a.since, name)
	}
	for name, k := range before {
		if _, there := found[name]; !there && !a.isGone(name, now, func() bool { return served(k) }) {
			found[name] = k
		}
	}
	return found
}

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
