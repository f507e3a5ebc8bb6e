package webhook_test

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// client writes as various managers, and collects the warnings.
type client struct {
	dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper

	mu       sync.Mutex
	warnings []string
}

func newClient(t *testing.T, kubeconfig string) *client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{}
	config.WarningHandler, config.QPS = c, 50 // the default of five a second would make tests long
	if c.Interface, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
	return c
}

// HandleWarningHeader stores a warning.
func (c *client) HandleWarningHeader(_ int, _, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings = append(c.warnings, text)
}

// reported returns the warnings since its last call.
func (c *client) reported() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.warnings)
	c.warnings = nil
	return out
}

// warned returns the warnings so far.
func (c *client) warned() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.warnings)
}

// door returns the client for a kind in a namespace.
func (c *client) door(u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := u.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	return c.Resource(mapping.Resource).Namespace(u.GetNamespace()), nil
}

// tryApply applies by force, as Flux and Argo CD do.
func (c *client) tryApply(u *unstructured.Unstructured, manager string, dryRun bool) (*unstructured.Unstructured, error) {
	door, err := c.door(u)
	if err != nil {
		return nil, err
	}
	options := metav1.ApplyOptions{FieldManager: manager, Force: true}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return door.Apply(context.Background(), u.GetName(), u, options)
}

func (c *client) apply(t *testing.T, u *unstructured.Unstructured, manager string, dryRun bool) *unstructured.Unstructured {
	t.Helper()
	c.cached(t, u)
	out, err := c.tryApply(u, manager, dryRun)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// cached waits until the API server's cache has an object's stored version. Otherwise a write is
// first tried on the cached version and admitted; then the server notices that it is old, and calls
// admission again. The client gets the warnings of both tries.
func (c *client) cached(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	door, err := c.door(u)
	if err != nil {
		t.Fatal(err)
	}
	defer func(reported []string) { // reads must not add warnings
		c.mu.Lock()
		defer c.mu.Unlock()
		c.warnings = reported
	}(c.warned())
	eventually(t, "the API server's cache is up to date", func() bool {
		stored, err := door.Get(t.Context(), u.GetName(), metav1.GetOptions{})
		if err != nil {
			return apierrors.IsNotFound(err)
		}
		cached, err := door.Get(t.Context(), u.GetName(), metav1.GetOptions{ResourceVersion: "0"})
		return err == nil && cached.GetResourceVersion() == stored.GetResourceVersion()
	})
}

// must applies an object, and fails the test on an error.
func (c *client) must(t *testing.T, apiVersion, kind, text string) *unstructured.Unstructured {
	t.Helper()
	return c.apply(t, object(apiVersion, kind, text), "setup", false)
}

// update reads, changes and writes an object, as controllers and Helm 3 do.
func (c *client) update(t *testing.T, u *unstructured.Unstructured, manager string, change func(map[string]any)) *unstructured.Unstructured {
	t.Helper()
	c.cached(t, u)
	door, err := c.door(u)
	if err != nil {
		t.Fatal(err)
	}
	live, err := door.Get(t.Context(), u.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(live.Object)
	out, err := door.Update(t.Context(), live, metav1.UpdateOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// object parses an object.
func object(apiVersion, kind, text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		panic(err)
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	return u
}

// kubectl runs kubectl, and returns its output.
func kubectl(t *testing.T, c *cluster.Cluster, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), c.Binary("kubectl"), append(args, "--kubeconfig", c.KubeconfigPath, "--cache-dir", t.TempDir())...)
	var out, diagnosis bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &out, &diagnosis
	if err := command.Run(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, diagnosis.String())
	}
	return out.String(), diagnosis.String()
}

func sorted(texts []string) []string {
	out := slices.Clone(texts)
	slices.Sort(out)
	return out
}

// metadata reads an object's metadata, as a metadata watch does.
func (r *running) metadata(t *testing.T, resource string, u *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	t.Helper()
	config, err := r.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	gvr := u.GroupVersionKind().GroupVersion().WithResource(resource)
	out, err := c.Resource(gvr).Namespace(u.GetNamespace()).Get(t.Context(), u.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
