package lab

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	ordering "github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// holdsOthers reports whether other objects cannot be without this one, nor it go before
// them.
func holdsOthers(u *unstructured.Unstructured) bool {
	return u.GetKind() == "Namespace" || u.GetKind() == DefinitionKind
}

// InOrder are the requests that create a real set in the plugin's order, with its waits:
// a phase begins when the one before it is done, and when the definitions are established
// of the kinds that it has objects of. So what the plugin takes beyond that is its own.
func (p *Plot) InOrder() ([]RawRequest, error) {
	objects, err := p.Sample.Objects(p.Version)
	if err != nil {
		return nil, err
	}
	options := ordering.Options{Namespace: p.Namespace, Kinds: map[schema.GroupVersionKind]object.Kind{}}
	for gvk, kind := range p.Kinds {
		options.Kinds[gvk] = object.Kind{GVK: gvk, Resource: kind.Resource.Resource, Namespaced: kind.Namespaced}
	}
	manifests := make([]object.Manifest, len(objects))
	for i, u := range objects {
		manifests[i].Object = u
	}
	ordered, err := ordering.Build(manifests, options)
	if err != nil {
		return nil, err
	}
	var requests []RawRequest
	waits := map[object.Key]RawRequest{} // for definitions that nothing has waited for yet
	for i, phase := range ordered.Phases {
		for _, item := range phase.Items {
			for _, need := range item.Needs {
				if wait, ok := waits[need]; ok {
					wait.Wave = 2 * i
					requests = append(requests, wait)
					delete(waits, need)
				}
			}
			c, err := p.Kinds.of(item.Object, p.Namespace)
			if err != nil {
				return nil, err
			}
			patch, err := p.Patch(c, item.Object, false)
			if err != nil {
				return nil, err
			}
			patch.Wave = 2*i + 1
			requests = append(requests, patch)
			if item.Object.GetKind() == DefinitionKind {
				waits[item.Key()] = RawRequest{Method: http.MethodGet, Path: c.Path() + "/" + item.Object.GetName(), Until: untilEstablished}
			}
		}
	}
	return InWaves(requests), nil
}

// Removal are the requests that delete an object: first of all those that others hold. A slow
// deletion is waited for.
func Removal(c collection, u *unstructured.Unstructured) []RawRequest {
	path := c.Path() + "/" + u.GetName()
	if !holdsOthers(u) {
		return []RawRequest{{Method: http.MethodDelete, Path: path, Wave: 1}}
	}
	return []RawRequest{
		{Method: http.MethodDelete, Path: path, Wave: 2},
		{Method: http.MethodGet, Path: path, Until: untilGone, Wave: 3},
	}
}

// Patch applies an object, whatever it conflicts with.
func (p *Plot) Patch(c collection, u *unstructured.Unstructured, dryRun bool) (RawRequest, error) {
	path := c.Path() + "/" + u.GetName() + "?fieldManager=raw&force=true"
	if dryRun {
		path += "&dryRun=All"
	}
	r := RawRequest{Method: http.MethodPatch, Path: path, Wave: 2}
	if holdsOthers(u) {
		r.Wave = 1
	}
	var err error
	r.Body, err = json.Marshal(u)
	return r, err
}

// InWaves sorts requests by wave, and keeps their order within each.
func InWaves(requests []RawRequest) []RawRequest {
	slices.SortStableFunc(requests, func(a, b RawRequest) int { return cmp.Compare(a.Wave, b.Wave) })
	return requests
}
