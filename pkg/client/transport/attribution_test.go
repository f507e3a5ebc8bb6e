package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// Edge case 34: each warning is reported for the object of its request, even if other requests are
// in progress.
func TestWarningsCarryTheirObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			resp := clienttest.OK(req)
			resp.Header.Add("Warning", `299 - "old"`)
			resp.Header.Add("Warning", `299 - "about `+path.Base(req.URL.Path)+`"`)
			resp.Header.Add("Warning", `199 proxy "not the server's"`)
			return resp, nil
		})
		var wait sync.WaitGroup
		for i := range n {
			wait.Go(func() {
				u := clienttest.NewObject(clienttest.ConfigMaps(), fmt.Sprint("a", i))
				for _, dry := range []bool{true, false} { // the same text twice is reported once
					if _, err := c.Apply(t.Context(), clienttest.ConfigMaps(), u, object.Write{Manager: "m", DryRun: dry}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		if len(says.Warnings) != 2*n {
			t.Errorf("%d warnings, want two for each of %d objects", len(says.Warnings), n)
		}
		for i := range n {
			ref := clienttest.RefTo(clienttest.ConfigMaps(), fmt.Sprint("a", i))
			for _, text := range []string{"old", "about " + ref.Name} {
				if !slices.Contains(says.Warnings, clienttest.Warning{Ref: ref, Text: text}) {
					t.Errorf("%s: no %q", ref, text)
				}
			}
		}
	})
}

// A warning about a list is reported for every object for which the list was read.
func TestWarningsOfAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			return clienttest.Reply(200, clienttest.Items(""), "Warning", `299 - "v1 is deprecated"`), nil
		})
		refs := clienttest.ManyRefs(clienttest.Many)
		c.Live(t.Context(), clienttest.ConfigMaps(), refs, clienttest.IgnoreLive)
		var want []clienttest.Warning
		for _, ref := range refs {
			want = append(want, clienttest.Warning{Ref: ref, Text: "v1 is deprecated"})
		}
		if diff := cmp.Diff(want, says.Warnings); diff != "" {
			t.Error(diff)
		}
	})
}

// A warning never appears without its object: a list or a watch that is not read for certain objects
// reports nothing. If the objects are being deleted, a deprecation of their version is no news, but
// the warning of an admission webhook is.
func TestWarningsOfOwnReadsAndDeletions(t *testing.T) {
	const outdated, denied = "gadgets are out of fashion", "the last backup of a is old"
	ref := clienttest.RefTo(clienttest.ConfigMaps(), "a")
	get := func(ctx context.Context, c *client.Client) error {
		_, err := c.Get(ctx, clienttest.ConfigMaps(), ref)
		return err
	}
	remove := func(ctx context.Context, c *client.Client) error {
		_, err := c.Delete(ctx, clienttest.ConfigMaps(), ref, object.Deletion{})
		return err
	}
	live := func(ctx context.Context, c *client.Client) error {
		c.Live(ctx, clienttest.ConfigMaps(), clienttest.ManyRefs(clienttest.Many), clienttest.IgnoreLive)
		return nil
	}
	follow := func(ctx context.Context, c *client.Client) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = c.Watch(ctx, clienttest.ConfigMaps(), object.Selection{Namespace: "prod"}, func(object.Change) {})
		return nil
	}
	list := func(ctx context.Context, c *client.Client) error {
		return c.Metadata(ctx, clienttest.ConfigMaps(), object.Selection{Namespace: "prod"}, func(*unstructured.Unstructured) {})
	}
	for name, test := range map[string]struct {
		requests []func(context.Context, *client.Client) error
		deleting bool
		want     map[string]int
	}{
		"a list":                     {requests: []func(context.Context, *client.Client) error{list}},
		"a watch":                    {requests: []func(context.Context, *client.Client) error{follow}},
		"an object":                  {requests: []func(context.Context, *client.Client) error{get}, want: map[string]int{outdated: 1}},
		"objects, then a list":       {requests: []func(context.Context, *client.Client) error{live, list, follow}, want: map[string]int{outdated: clienttest.Many}},
		"a deletion in another run":  {requests: []func(context.Context, *client.Client) error{get, remove}, want: map[string]int{outdated: 1, denied: 1}},
		"a deletion":                 {requests: []func(context.Context, *client.Client) error{get, remove, follow}, deleting: true, want: map[string]int{denied: 1}},
		"a deletion of many objects": {requests: []func(context.Context, *client.Client) error{live, remove}, deleting: true, want: map[string]int{denied: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					resp := clienttest.OK(req)
					if !strings.HasSuffix(req.URL.Path, "/a") {
						resp = clienttest.Reply(200, clienttest.Items(""))
					}
					resp.Header.Add("Warning", "299 - "+strconv.Quote(outdated))
					if req.Method == http.MethodDelete {
						resp.Header.Add("Warning", "299 - "+strconv.Quote(denied))
					}
					return resp, nil
				})
				ctx := t.Context()
				if test.deleting {
					ctx = transport.Deleting(ctx)
				}
				for _, request := range test.requests {
					if err := request(ctx, c); err != nil {
						t.Fatal(err)
					}
				}
				got := map[string]int{}
				for _, w := range says.Warnings {
					got[w.Text]++
					if w.Ref.Name == "" {
						t.Errorf("%q has no object", w.Text)
					}
				}
				if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestWarningWithoutObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			return clienttest.Reply(200, map[string]any{"gitVersion": "v1.36.0"}, "Warning", `299 - "soon over"`), nil
		})
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]clienttest.Warning{{Text: "soon over"}}, says.Warnings); diff != "" {
			t.Error(diff)
		}
	})
}

// The webhook's warning contains the object's name, which a report does not repeat. Warnings about
// takeovers are dropped, because we report takeovers ourselves, with both values; a dry run takes
// nothing.
func TestWarningsOfTheWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			resp := clienttest.OK(req)
			for _, text := range []string{
				"ConfigMap/prod/a: .data.a taken from x by m", "ConfigMap/prod/a: +7 more taken",
				"ConfigMap/prod/a: v1 ConfigMap is deprecated since 1.30", "somebody's: no field is taken from anybody",
			} {
				resp.Header.Add("Warning", "299 - "+strconv.Quote(text))
			}
			return resp, nil
		})
		ref := clienttest.RefTo(clienttest.ConfigMaps(), "a")
		write := func(dry bool) {
			t.Helper()
			if _, err := c.Apply(t.Context(), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m", DryRun: dry}); err != nil {
				t.Fatal(err)
			}
		}
		write(true)
		want := []clienttest.Warning{{Ref: ref, Text: "v1 ConfigMap is deprecated since 1.30"}, {Ref: ref, Text: "somebody's: no field is taken from anybody"}}
		if diff := cmp.Diff(want, says.Warnings); diff != "" {
			t.Errorf("dry run (-want +got):\n%s", diff)
		}
		write(false)
		if diff := cmp.Diff(want, says.Warnings); diff != "" {
			t.Errorf("write (-want +got):\n%s", diff)
		}
	})
}

// The API server and our webhook warn about the same deprecation in different words. For each
// object, the deprecation is reported once, regardless of which warning comes first, and also if a
// write follows a dry run.
func TestDeprecationsAreReportedOnce(t *testing.T) {
	deployments := object.Kind{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}, Resource: "deployments", Namespaced: true}
	for name, tt := range map[string]struct {
		kind  object.Kind
		texts []string
		want  int
	}{
		"a version": {deployments, []string{
			"apps/v1beta1 Deployment is deprecated in v1.8+, unavailable in v1.16+; use apps/v1 Deployment",
			"Deployment/prod/a: apps/v1beta1 is deprecated since 1.8, removed in 1.16; use v1",
		}, 1},
		"a version of the core group": {clienttest.ConfigMaps(), []string{
			"v1 ConfigMap is deprecated in v1.33+; use x.io/v1 Settings",
			"ConfigMap/prod/a: v1 ConfigMap is deprecated since 1.33; use x.io/v1 Settings",
		}, 1},
		"a custom deprecation text": {deployments, []string{
			"these were good, the new ones are better", "Deployment/prod/a: apps/v1beta1 is deprecated: these were good, the new ones are better",
		}, 1},
		"a field": {deployments, []string{
			`spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
			`Deployment/prod/a: .spec.template.spec.nodeSelector["beta.kubernetes.io/os"] is deprecated since 1.14; use kubernetes.io/os`,
		}, 1},
		"a field of a list item": {deployments, []string{
			`spec.template.spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+`,
			`Deployment/prod/a: .spec.template.spec.volumes[name="code"].gitRepo is deprecated since 1.11; use an init container`,
		}, 1},
		"two fields": {deployments, []string{
			`spec.externalIPs: deprecated`, `Deployment/prod/a: .spec.loadBalancerIP is deprecated since 1.24`,
		}, 2},
		"a version and a field": {deployments, []string{
			"apps/v1beta1 Deployment is deprecated in v1.8+", `Deployment/prod/a: .spec.loadBalancerIP is deprecated since 1.24`,
		}, 2},
		"a field that is not deprecated": {deployments, []string{
			"spec.replicas: odd", "spec.replicas: even", "Deployment/prod/a: .spec.replicas is odd",
		}, 3},
	} {
		for _, texts := range [][]string{tt.texts, reversed(tt.texts)} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _, says := clienttest.New(t, func(int, *http.Request) (*http.Response, error) {
						u := clienttest.NewObject(tt.kind, "a")
						u.SetUID("u")
						resp := clienttest.Reply(http.StatusOK, u)
						for _, text := range texts {
							resp.Header.Add("Warning", "299 - "+strconv.Quote(text))
						}
						return resp, nil
					})
					for _, dry := range []bool{true, false} {
						if _, err := c.Apply(t.Context(), tt.kind, clienttest.NewObject(tt.kind, "a"), object.Write{Manager: "m", DryRun: dry}); err != nil {
							t.Fatal(err)
						}
					}
					if len(says.Warnings) != tt.want {
						t.Errorf("%d warnings, want %d: %v", len(says.Warnings), tt.want, says.Warnings)
					}
				})
			})
		}
	}
}

func reversed(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Reverse(texts)
	return texts
}
