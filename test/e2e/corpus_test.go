package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	product "github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/local"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// manifests is a set of manifests.
type manifests struct {
	name    string
	objects []*unstructured.Unstructured
}

// readCorpus reads the corpus of real manifests, which is not part of the project, or else the
// project's samples.
func readCorpus(t *testing.T) []manifests {
	dir := corpus()
	if dir == "" {
		dir = "testdata"
		t.Log("no corpus here (CORPUS names its folder): running on the project's own samples")
	}
	folders, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var sets []manifests
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		set := manifests{name: f.Name()}
		err := filepath.WalkDir(filepath.Join(dir, f.Name()), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				set.read(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(set.objects) > 0 {
			sets = append(sets, set)
		}
	}
	if len(sets) == 0 {
		t.Fatalf("no manifests in %s", dir)
	}
	return sets
}

// read adds a file's objects, and skips documents that are not objects: reading manifests is tested
// elsewhere.
func (m *manifests) read(path string) {
	content, err := os.ReadFile(path)
	if err != nil {
		return
	}
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 1<<16)
	for {
		var u unstructured.Unstructured
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return
		}
		switch {
		case err != nil:
			return
		case u.IsList():
			_ = u.EachListItem(func(o runtimeObject) error {
				m.add(o.(*unstructured.Unstructured))
				return nil
			})
		default:
			m.add(&u)
		}
	}
}

func (m *manifests) add(u *unstructured.Unstructured) {
	if u.GetAPIVersion() != "" && u.GetKind() != "" && u.GetName() != "" {
		m.objects = append(m.objects, u)
	}
}

// server is a client of a real API server.
type server struct {
	seed   uint64
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	schema func(object.Kind) openapi.Type
	known  local.Types
	ours   *product.Client
}

func newServer(ctx context.Context, c *cluster.Cluster) (*server, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	ours, err := product.New(product.Options{REST: config, ServerTimeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	return &server{ours: ours, schema: published.ByKind(ours.SchemaOnce(ctx)), client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))}, nil
}

// learn reads the published schemas, including those of the objects' kinds.
func (s *server) learn(t *testing.T, objects []*subject) {
	t.Helper()
	kinds := sets.New[schema.GroupVersionKind]()
	for _, o := range objects {
		if gvk := o.ref.GVK; !object.IsBuiltIn(gvk.Group) && !kinds.Has(gvk) {
			kinds.Insert(gvk)
			e2etest.Until(t, "the schema of "+gvk.String()+" is published", func() bool {
				published, err := s.ours.Schema(t.Context(), object.Kind{GVK: gvk})
				return err == nil && published != nil
			})
		}
	}
	s.schema = published.ByKind(s.ours.SchemaOnce(t.Context()))
}

// install applies a set, definitions first, and returns the accepted objects. It skips objects that
// change what the server admits.
func (s *server) install(t *testing.T, set manifests) []*subject {
	ctx := t.Context()
	namespace := "set-" + strings.ReplaceAll(set.name, ".", "-")
	s.namespace(ctx, namespace)
	objects := slices.DeleteFunc(slices.Clone(set.objects), func(u *unstructured.Unstructured) bool {
		return strings.HasPrefix(u.GetAPIVersion(), "admissionregistration.k8s.io/") || u.GetKind() == "APIService"
	})
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	seen := map[object.Key]bool{}
	var subjects []*subject
	definitions := true
	for _, u := range objects {
		if definitions && rank(u) > 1 {
			definitions = false
			s.established(ctx)
		}
		mapping, err := s.mapper.RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
		if err != nil {
			continue
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			u.SetNamespace(cmp.Or(u.GetNamespace(), namespace))
			s.namespace(ctx, u.GetNamespace())
		}
		ref := object.RefOf(u)
		if seen[ref.Key()] {
			continue
		}
		seen[ref.Key()] = true
		if _, err := s.apply(ctx, u, manager, true, false); err != nil {
			continue
		}
		subjects = append(subjects, &subject{server: s, ref: ref, manifest: u})
	}
	return subjects
}

func rank(u *unstructured.Unstructured) int {
	switch u.GetKind() {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	}
	return 2
}

// namespace creates a namespace with a default service account, without which no pod is admitted.
func (s *server) namespace(ctx context.Context, name string) {
	for _, u := range []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}},
		{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default", "namespace": name}}},
	} {
		if client, err := s.resource(object.RefOf(u)); err == nil {
			_, _ = client.Create(ctx, u, metav1.CreateOptions{FieldManager: "setup"})
		}
	}
}

// established waits until the applied definitions are served.
func (s *server) established(ctx context.Context) {
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for range 100 {
		list, err := s.client.Resource(crds).List(ctx, metav1.ListOptions{})
		if err == nil && !slices.ContainsFunc(list.Items, isPending) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.mapper.Reset()
}

func isPending(crd unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return !slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == "Established" && m["status"] == "True" || m["type"] == "NamesAccepted" && m["status"] == "False"
	})
}

func (s *server) resource(ref object.Ref) (dynamic.ResourceInterface, error) {
	mapping, err := s.mapper.RESTMapping(ref.GVK.GroupKind(), ref.GVK.Version)
	if err != nil {
		return nil, err
	}
	return s.client.Resource(mapping.Resource).Namespace(ref.Namespace), nil
}

func (s *server) get(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	client, err := s.resource(ref)
	if err != nil {
		return nil, err
	}
	return client.Get(ctx, ref.Name, metav1.GetOptions{})
}

func (s *server) apply(ctx context.Context, u *unstructured.Unstructured, who string, force, dry bool) (*unstructured.Unstructured, error) {
	client, err := s.resource(object.RefOf(u))
	if err != nil {
		return nil, err
	}
	options := metav1.ApplyOptions{FieldManager: who, Force: force}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return client.Apply(ctx, u.GetName(), u.DeepCopy(), options)
}

func (s *server) update(ctx context.Context, u *unstructured.Unstructured, who string) error {
	client, err := s.resource(object.RefOf(u))
	if err != nil {
		return err
	}
	_, err = client.Update(ctx, u, metav1.UpdateOptions{FieldManager: who})
	return err
}

// scale sets replicas through the scale subresource, if there is one.
func (s *server) scale(ctx context.Context, ref object.Ref, replicas int) error {
	if !slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet"}, ref.GVK.Kind) {
		return apierrors.NewMethodNotSupported(schema.GroupResource{Resource: ref.GVK.Kind}, "scale")
	}
	client, err := s.resource(ref)
	if err != nil {
		return err
	}
	scale := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale",
		"metadata": map[string]any{"name": ref.Name, "namespace": ref.Namespace},
		"spec":     map[string]any{"replicas": int64(replicas)},
	}}
	_, err = client.Update(ctx, scale, metav1.UpdateOptions{FieldManager: "scaler"}, "scale")
	return err
}

func seed(ref object.Ref) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, ref.String())
	return h.Sum64()
}

// change makes a random change to an object, and returns its place.
func change(r *rand.Rand, object map[string]any) string {
	if r.IntN(4) == 0 {
		name := []string{"tier", "example.com/team", "app"}[r.IntN(3)]
		value := []string{"a", "b"}[r.IntN(2)]
		kind := []string{"labels", "annotations"}[r.IntN(2)]
		_ = unstructured.SetNestedField(object, value, "metadata", kind, name)
		return kind + " " + name + "=" + value
	}
	var places []place
	for name, v := range object {
		if name != "apiVersion" && name != "kind" && name != "metadata" && name != "status" {
			places = leaves(places, "."+name, v, func(v any, keep bool) { set(object, name, v, keep) })
		}
	}
	if len(places) == 0 {
		return "nothing"
	}
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	p := places[r.IntN(len(places))]
	v, keep := other(r, p.value)
	p.set(v, keep)
	return p.path
}

// place is a leaf of an object that can be changed.
type place struct {
	path  string
	value any
	set   func(v any, keep bool)
}
