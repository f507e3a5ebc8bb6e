package discovery_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// custom is what a server serves of the kind Gadget in groups of CRDs: the versions, in order of preference.
// Each group has one scope and one plural.
type custom map[string]gadgetCRD

type gadgetCRD struct {
	versions   []string
	plural     string
	namespaced bool
}

func (c custom) answer(_ int, req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/apis" {
		groups := []apidiscoveryv2.APIGroupDiscovery{clienttest.Group("apps", clienttest.Serving("v1", "Deployment", "deployments"))}
		for name, crd := range c {
			var versions []apidiscoveryv2.APIVersionDiscovery
			for _, v := range crd.versions {
				serving := clienttest.Serving(v, "Gadget", crd.plural)
				if !crd.namespaced {
					serving.Resources[0].Scope = apidiscoveryv2.ScopeCluster
				}
				versions = append(versions, serving)
			}
			groups = append(groups, clienttest.Group(name, versions...))
		}
		return clienttest.Groups(groups...), nil
	}
	if gv, is := strings.CutPrefix(req.URL.Path, "/apis/"); is {
		group, version, _ := strings.Cut(gv, "/")
		if slices.Contains(c[group].versions, version) {
			return clienttest.Reply(http.StatusOK, metav1.APIResourceList{TypeMeta: clienttest.ResourceList(), GroupVersion: gv, APIResources: []metav1.APIResource{{
				Name: c[group].plural, Kind: "Gadget", Namespaced: c[group].namespaced, Verbs: []string{"get", "list", "watch", "patch"},
			}}}), nil
		}
	}
	return clienttest.Discovered(req), nil
}

// A cache on disk from before CRDs were replaced changes no answer: a client with it answers as one
// without, for CRDs that lose or gain versions, are deleted, or return with another scope or plural. This
// includes CRDs in the groups of Kubernetes' projects, such as the Gateway API. Only a version that was
// preferred may still be chosen, like kubectl does, while the server serves it.
func TestOldCacheChangesNoAnswer(t *testing.T) {
	groups := []string{"x.y", "gateway.networking.k8s.io", "snapshot.storage.k8s.io"}
	random := func(r *rand.Rand) custom {
		world := custom{}
		for _, group := range groups {
			crd := gadgetCRD{plural: []string{"gadgets", "gadgetry"}[r.IntN(2)], namespaced: r.IntN(2) == 0}
			for _, v := range []string{"v2", "v1", "v1beta1"} {
				if r.IntN(2) == 0 {
					crd.versions = append(crd.versions, v)
				}
			}
			if len(crd.versions) > 0 {
				world[group] = crd
			}
		}
		return world
	}
	questions := func(group string) map[string]func(*client.Client) (any, error) {
		all := map[string]func(*client.Client) (any, error){
			"Preferred": func(c *client.Client) (any, error) {
				return c.Preferred(t.Context(), schema.GroupKind{Group: group, Kind: "Gadget"})
			},
		}
		for _, typ := range []string{"gadgets", "gadgetry", "Gadget"} {
			all["Resource "+typ] = func(c *client.Client) (any, error) { return c.Resource(t.Context(), typ+"."+group) }
			all["Resources "+typ] = func(c *client.Client) (any, error) { return c.Resources(t.Context(), typ+"."+group) }
		}
		for _, v := range []string{"v2", "v1", "v1beta1"} {
			gvk := schema.GroupVersionKind{Group: group, Version: v, Kind: "Gadget"}
			all["Kind "+v] = func(c *client.Client) (any, error) { return c.Kind(t.Context(), gvk) }
			all["Elsewhere "+v] = func(c *client.Client) (any, error) { return c.Elsewhere(t.Context(), gvk) }
		}
		return all
	}
	said := func(v any, err error, served []string) string {
		_, noType := errors.AsType[*client.NoTypeError](err)
		_, noKind := errors.AsType[*client.NoKindError](err)
		if err != nil {
			return fmt.Sprintf("no type %t, no kind %t, proof %t", noType, noKind, errors.Unwrap(err) == nil)
		}
		kinds, _ := v.([]object.Kind)
		if kind, is := v.(object.Kind); is {
			kinds = []object.Kind{kind}
		}
		if kinds == nil {
			return fmt.Sprintf("%+v", v)
		}
		text := ""
		for _, kind := range kinds {
			text += fmt.Sprintf("%s %s %t, served %t;", kind.GVK.GroupKind(), kind.Resource, kind.Namespaced, slices.Contains(served, kind.GVK.Version))
		}
		return text
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The same worlds in each run.
	for n := range 8 {
		before, after := random(r), random(r)
		cached := t.TempDir()
		former, _, _ := onDisk(t, cached, before.answer)
		if _, err := former.Kind(t.Context(), deployments); err != nil {
			t.Fatal(err)
		}
		for _, group := range groups {
			for name, ask := range questions(group) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(cached)); err != nil {
					t.Fatal(err)
				}
				old, _, _ := onDisk(t, dir, after.answer)
				without, _, _ := onDisk(t, "", after.answer)
				v, err := ask(old)
				got := said(v, err, after[group].versions)
				v, err = ask(without)
				if want := said(v, err, after[group].versions); got != want {
					t.Errorf("world %d: %s in %s:\n got %s\nwant %s\nbefore %+v\nafter  %+v", n, name, group, got, want, before[group], after[group])
				}
			}
		}
	}
}

// A TYPE whose version the server no longer serves is no proof that its objects are gone, with and without
// an old cache: they exist at another version. A CRD that was deleted is.
func TestTypeAtDroppedVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		after custom
		proof bool
	}{
		"dropped version": {custom{"x.y": {versions: []string{"v2"}, plural: "gadgets"}}, false},
		"deleted CRD":     {custom{}, true},
		"another group":   {custom{"z.y": {versions: []string{"v2"}, plural: "gadgets"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			former, _, _ := onDisk(t, dir, custom{"x.y": {versions: []string{"v1"}, plural: "gadgets"}}.answer)
			if _, err := former.Kind(t.Context(), gadgets); err != nil {
				t.Fatal(err)
			}
			for _, typ := range []string{"Gadget.v1.x.y", "gadgets.v1.x.y"} {
				for _, dir := range []string{"", dir} {
					c, _, _ := onDisk(t, dir, tt.after.answer)
					_, err := c.Resource(t.Context(), typ)
					if _, none := errors.AsType[*client.NoTypeError](err); !none || errors.Unwrap(err) == nil != tt.proof {
						t.Errorf("%s, cache %q: %v", typ, dir, err)
					}
				}
			}
		})
	}
}

// A cache that agrees with the server is not read again: a type costs only the request for its group version.
func TestCurrentCacheIsNotRenewed(t *testing.T) {
	world := custom{"x.y": {versions: []string{"v2", "v1"}, plural: "gadgets", namespaced: true}}
	dir := t.TempDir()
	former, _, _ := onDisk(t, dir, world.answer)
	if _, err := former.Kind(t.Context(), deployments); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(*client.Client) error{
		"Resource":  func(c *client.Client) error { _, err := c.Resource(t.Context(), "gadgets"); return err },
		"Resources": func(c *client.Client) error { _, err := c.Resources(t.Context(), "gadget.x.y"); return err },
		"Preferred": func(c *client.Client) error { _, err := c.Preferred(t.Context(), gadgets.GroupKind()); return err },
	} {
		c, f, _ := onDisk(t, dir, world.answer)
		if err := ask(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := []string{"GET /apis/x.y/v2"}; !slices.Equal(f.Requests, want) {
			t.Errorf("%s requests %v, want %v", name, f.Requests, want)
		}
	}
}
