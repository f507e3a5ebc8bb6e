// Package chart_test checks the chart's promises with a real API server: the objects that it
// accepts, the rights that it grants, and the calls that it makes to the webhook.
package chart_test

import (
	"context"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

var shared = cluster.Shared{Options: cluster.Options{
	Nodes: 1,
	// A built-in version that is served and deprecated, even if it is not served by default.
	APIServerArgs: []string{"--runtime-config=resource.k8s.io/v1beta2=true"},
}}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// Kinds that the tests write to.
var (
	configMaps     = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	accounts       = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	secrets        = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	leases         = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	deployments    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	definitions    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	configurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// site is a cluster, its clients, and Helm.
type site struct {
	*cluster.Cluster
	dynamic.Interface
	typed *kubernetes.Clientset
	helm  *chart.Helm
}

func newSite(t *testing.T) site {
	t.Helper()
	c := shared.Cluster(t)
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.WarningHandler = noWarnings{}
	s := site{Cluster: c, helm: chart.NewHelm(t, c.KubeconfigPath)}
	if s.Interface, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if s.typed, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return s
}

type noWarnings struct{}

func (noWarnings) HandleWarningHeader(int, string, string) {}

// namespace creates a namespace that only admits restricted pods.
func (s site) namespace(t *testing.T, name string) {
	t.Helper()
	s.apply(t, namespaces, `{apiVersion: v1, kind: Namespace, metadata: {name: `+name+`,
		labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/warn: restricted}}}`, "test")
}

// install installs the chart, and uninstalls it when the test ends. It adopts the definition of an
// earlier release.
func (s site) install(t *testing.T, release, namespace string, flags ...string) {
	t.Helper()
	s.namespace(t, namespace)
	s.helm.Run(t, append([]string{"install", release, chart.Dir(t), "--namespace", namespace, "--take-ownership"}, flags...)...)
	t.Cleanup(func() {
		_, _ = s.helm.Try(context.WithoutCancel(t.Context()), "uninstall", release, "--namespace", namespace, "--ignore-not-found")
	})
}

func (s site) in(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.Resource(gvr)
	}
	return s.Resource(gvr).Namespace(namespace)
}

// apply applies an object in YAML by force; subresources may follow.
func (s site) apply(t *testing.T, gvr schema.GroupVersionResource, text, manager string, subresources ...string) *unstructured.Unstructured {
	t.Helper()
	o := fieldstest.Read(t, text)
	applied, err := s.in(gvr, o.GetNamespace()).Apply(t.Context(), o.GetName(), o,
		metav1.ApplyOptions{FieldManager: manager, Force: true}, subresources...)
	if err != nil {
		t.Fatal(err)
	}
	s.awaitCache(t, gvr, applied)
	return applied
}

// awaitCache waits until the API server's cache has the written version. Before that, the server
// starts the next write from the older version, calls admission for it, and calls again when it
// notices.
func (s site) awaitCache(t *testing.T, gvr schema.GroupVersionResource, written *unstructured.Unstructured) {
	t.Helper()
	version := metav1.GetOptions{ResourceVersion: written.GetResourceVersion()}
	if _, err := s.in(gvr, written.GetNamespace()).Get(t.Context(), written.GetName(), version); err != nil {
		t.Fatal(err)
	}
}

func (s site) get(t *testing.T, gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := s.in(gvr, namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// eventually waits until done returns true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !cluster.Until(time.Minute, done) {
		t.Fatalf("timed out after a minute: %s", what)
	}
}
