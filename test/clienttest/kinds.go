package clienttest

import (
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// Discovered is the answer of a server with ConfigMaps, Deployments, and an aggregated API whose
// server is down (edge case 21).
func Discovered(req *http.Request) *http.Response {
	core := Group("", Serving("v1", "ConfigMap", "configmaps"))
	apps := Group("apps", Serving("v1", "Deployment", "deployments"))
	dead := Group("metrics.k8s.io", apidiscoveryv2.APIVersionDiscovery{
		Version: "v1beta1", Freshness: apidiscoveryv2.DiscoveryFreshnessStale,
	})
	switch req.URL.Path {
	case "/api":
		return Groups(core)
	case "/apis":
		if !strings.Contains(req.Header.Get("Accept"), "APIGroupDiscoveryList") {
			return Reply(200, metav1.APIGroupList{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}, Groups: []metav1.APIGroup{{Name: "apps"}},
			})
		}
		return Groups(apps, dead)
	case "/api/v1":
		return Reply(200, metav1.APIResourceList{TypeMeta: ResourceList(), GroupVersion: "v1", APIResources: []metav1.APIResource{}})
	default:
		return Failure(404, metav1.StatusReasonNotFound, nil)
	}
}

// Groups returns an aggregated answer that lists groups.
func Groups(items ...apidiscoveryv2.APIGroupDiscovery) *http.Response {
	resp := Reply(200, apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"},
		Items:    items,
	})
	resp.Header.Set("Content-Type", aggregated)
	return resp
}

// Group returns a group with its versions.
func Group(name string, versions ...apidiscoveryv2.APIVersionDiscovery) apidiscoveryv2.APIGroupDiscovery {
	return apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}, Versions: versions}
}

// Serving returns a version that serves one kind.
func Serving(name, kind, resource string) apidiscoveryv2.APIVersionDiscovery {
	return apidiscoveryv2.APIVersionDiscovery{
		Version: name, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
		Resources: []apidiscoveryv2.APIResourceDiscovery{{
			Resource: resource, ResponseKind: &metav1.GroupVersionKind{Kind: kind},
			Scope: apidiscoveryv2.ScopeNamespace, Verbs: []string{"get", "list", "watch", "patch"},
		}},
	}
}

// ResourceList returns the type of an answer that lists the kinds of a group version.
func ResourceList() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}
}

// CatalogueOf returns the answer of a healthy server at a path of discovery; nil at other paths.
// Each group has the kind Thing at v1.
func CatalogueOf(path string, groups ...string) *http.Response {
	gv := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	switch {
	case path == "/readyz":
		return Text(200, "text/plain", "ok")
	case path == "/api":
		return Reply(200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/apis":
		all := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
		for _, name := range groups {
			gv := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
			all.Groups = append(all.Groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv})
		}
		return Reply(200, all)
	case path == "/api/v1", strings.HasSuffix(gv, "/v1") && slices.Contains(groups, strings.TrimSuffix(gv, "/v1")):
		return Reply(200, metav1.APIResourceList{TypeMeta: ResourceList(), GroupVersion: gv, APIResources: []metav1.APIResource{
			{Name: Things().Resource, Kind: Things().GVK.Kind, Namespaced: true, Verbs: Things().Verbs},
		}})
	}
	return nil
}
