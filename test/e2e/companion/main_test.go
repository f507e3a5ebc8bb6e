package companion_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

var shared = site{Shared: cluster.Shared{Options: cluster.Options{Controllers: true, Nodes: 1, Durable: os.Getenv("DELETION_COST") != ""}}}

func TestMain(m *testing.M) {
	status := shared.Main(m)
	if shared.webhook != nil {
		shared.webhook.Close()
	}
	os.Exit(status)
}

// Kinds that the tests write to.
var (
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	services     = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	quotas       = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	autoscalers  = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	definitions  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	birds        = schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "birds"}
	records      = schema.GroupVersionResource{Group: ownership.RecordGroup, Version: ownership.RecordVersion, Resource: ownership.RecordPlural}
)

// site is a cluster with the webhook, for all tests.
type site struct {
	cluster.Shared

	once    sync.Once
	webhook *companion.Companion
	replica *companion.Replica
	err     error
}

// client writes to the cluster, and collects the warnings.
type client struct {
	dynamic.Interface
	*cluster.Cluster
	replica *companion.Replica

	mu       sync.Mutex
	warnings []string
}

// newClient returns a client for a user, or for the administrator if user is empty. It waits until
// the webhook watches.
func newClient(t *testing.T, user string) *client {
	t.Helper()
	c := &client{Cluster: shared.Cluster(t)}
	shared.once.Do(func() { shared.err = shared.install(t.Context(), c.Cluster) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	c.replica = shared.replica
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, c
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	}
	if c.Interface, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *site) install(ctx context.Context, c *cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var err error
	options := companion.Options{Args: []string{"--records-per-second=1000"}, Set: strings.Fields(os.Getenv("DELETION_COST_SET"))}
	if s.webhook, err = companion.Install(ctx, c, options); err != nil {
		return err
	}
	if s.replica, err = s.webhook.Start(ctx); err != nil {
		return err
	}
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := s.webhook.BePatient(ctx); err != nil {
		return err
	}
	for { // no promise covers the time before the first checkpoint
		list, err := client.Resource(configMaps).Namespace(companion.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "k8sconnect.io/tracker=true"})
		if err != nil || len(list.Items) > 0 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
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
	out := c.warnings
	c.warnings = nil
	return out
}

// try applies an object in YAML by force.
func (c *client) try(t *testing.T, gvr schema.GroupVersionResource, text, manager string) (*unstructured.Unstructured, error) {
	t.Helper()
	o := fieldstest.Read(t, text)
	return c.Resource(gvr).Namespace(o.GetNamespace()).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: manager, Force: true})
}

func (c *client) apply(t *testing.T, gvr schema.GroupVersionResource, text, manager string) *unstructured.Unstructured {
	t.Helper()
	applied, err := c.try(t, gvr, text, manager)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

func (c *client) namespace(t *testing.T, name string) {
	t.Helper()
	c.apply(t, namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}", "setup")
	c.reported()
}

// record returns the record of an object, or nil.
func (c *client) record(t *testing.T, o *unstructured.Unstructured) []ownership.Entry {
	t.Helper()
	list, err := c.Resource(records).Namespace(o.GetNamespace()).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		var r ownership.Record
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &r); err != nil {
			t.Fatal(err)
		}
		if r.Object.UID == o.GetUID() {
			return r.Entries
		}
	}
	return nil
}

// kubectl runs kubectl, and returns its stderr.
func (c *client) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Binary("kubectl"), append(args, "--kubeconfig", c.KubeconfigPath, "--cache-dir", t.TempDir())...)
	var message bytes.Buffer
	cmd.Stderr = &message
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, message.String())
	}
	return message.String()
}

// eventually waits until done returns true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	const patience = 2 * time.Minute
	if !cluster.Until(patience, done) {
		t.Fatalf("timed out after %s: %s", patience, what)
	}
}
