package companion_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// stolen is a label that one manager sets and another one takes.
const stolen = "example.com/stolen"

var fish = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "fish"}

// fishDefinition is in a group that the webhook may not read.
const fishDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fish.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: fish, singular: fish, kind: Fish}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`

// A takeover is never answered with "no takeovers recorded". For each served kind, and in each
// namespace with objects, a label is taken by force. Then the history of that path shows it, or
// reports with status 2 that it is unknown.
func TestHistoryIsCompleteOrUnknown(t *testing.T) {
	c := newClient(t, "")
	c.namespace(t, "vouched")
	c.apply(t, definitions, fishDefinition, "setup")
	eventually(t, "fish are served", func() bool {
		_, err := c.try(t, fish, "{apiVersion: example.org/v1, kind: Fish, metadata: {name: vouched, namespace: vouched}}", "setup")
		return err == nil
	})
	for _, namespace := range []string{"vouched", "kube-system", "kube-node-lease", companion.Namespace} {
		for _, o := range []string{
			"{apiVersion: v1, kind: Secret, metadata: {name: vouched, namespace: %s}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: vouched, namespace: %s}}",
			"{apiVersion: v1, kind: Endpoints, metadata: {name: vouched, namespace: %s}}",
			"{apiVersion: v1, kind: Service, metadata: {name: vouched, namespace: %s}, spec: {ports: [{port: 80}]}}",
			"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: vouched, namespace: %s}, addressType: IPv4, endpoints: []}",
			"{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: vouched, namespace: %s}}",
			"{apiVersion: example.org/v1, kind: Fish, metadata: {name: vouched, namespace: %s}}",
		} {
			c.kubectlApply(t, fmt.Sprintf(o, namespace))
		}
	}
	eventually(t, "it is noted down what is watched", func() bool {
		list, err := c.Resource(configMaps).Namespace(companion.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "k8sconnect.io/tracker=true"})
		if err != nil || len(list.Items) == 0 {
			return false
		}
		noted, _, _ := unstructured.NestedString(list.Items[0].Object, "data", "scope")
		return noted != ""
	})
	known, unknown := map[string]bool{}, map[string]bool{}
	for _, o := range c.steal(t) {
		name := o.GroupVersionKind().GroupKind().String()
		message, status := c.history(t, o, ".metadata.labels[\""+stolen+"\"]")
		eventually(t, o.GetNamespace()+"/"+name+" "+o.GetName()+" has a history, or is said to have none", func() bool {
			message, status = c.history(t, o, ".metadata.labels[\""+stolen+"\"]")
			return status != 0 || strings.Contains(message, "from first (Apply) to second (Apply)")
		})
		if status == 0 {
			known[name] = true
			continue
		}
		unknown[o.GetNamespace()+"/"+name] = true
		if status != 2 || strings.Contains(message, "no takeovers recorded") || !strings.Contains(message, "not known") {
			t.Errorf("status %d of %s:\n%s", status, name, message)
		}
	}
	for _, name := range []string{"ConfigMap", "Service", "Node", "Namespace", "ClusterRole.rbac.authorization.k8s.io", "APIService.apiregistration.k8s.io"} {
		if !known[name] {
			t.Errorf("the history of a %s is unknown, want known", name)
		}
	}
	for _, name := range []string{
		"vouched/Secret", "vouched/Fish.example.org", "vouched/Lease.coordination.k8s.io", "vouched/Endpoints",
		"kube-system/ConfigMap", "kube-node-lease/ConfigMap", companion.Namespace + "/ConfigMap",
	} {
		if !unknown[name] {
			t.Errorf("the history of %s is known, want unknown", name)
		}
	}
	t.Logf("history known for %d kinds, unknown for %d kinds in a namespace", len(known), len(unknown))
}

// kubectlApply applies an object in YAML, of any kind.
func (c *client) kubectlApply(t *testing.T, text string) {
	t.Helper()
	o := fieldstest.Read(t, text)
	c.apply(t, c.resource(t, o.GroupVersionKind()), text, "setup")
}

// resource returns a kind's resource.
func (c *client) resource(t *testing.T, gvk schema.GroupVersionKind) schema.GroupVersionResource {
	t.Helper()
	for gvr, kind := range c.served(t) {
		if gvr.GroupVersion() == gvk.GroupVersion() && kind == gvk.Kind {
			return gvr
		}
	}
	t.Fatalf("%s is not served", gvk)
	return schema.GroupVersionResource{}
}

// served returns the kinds that can be listed and patched, in all versions.
func (c *client) served(t *testing.T) map[schema.GroupVersionResource]string {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	out := map[schema.GroupVersionResource]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "patch") {
				out[gv.WithResource(r.Name)] = r.Kind
			}
		}
	}
	return out
}

// steal sets a label as one manager and takes it as another, on one object of each kind and
// namespace, and returns those objects. In the first circle, it does so for the kinds that the test
// names.
func (c *client) steal(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	done := map[types.UID]bool{}
	first := []string{
		"ConfigMap", "Secret", "Service", "Endpoints", "EndpointSlice", "Lease", "Node", "Namespace", "ClusterRole", "APIService", "Fish",
	}
	for gvr, kind := range c.served(t) {
		if circle.Of(!slices.Contains(first, kind), false, false) {
			continue
		}
		list, err := c.Resource(gvr).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]bool{}
		for _, o := range list.Items {
			if of[o.GetNamespace()] || done[o.GetUID()] {
				continue
			}
			of[o.GetNamespace()], done[o.GetUID()] = true, true
			if kind == "Event" && o.GetNamespace() == "" {
				continue
			}
			if stolen := c.stealFrom(t, gvr, o); stolen != nil {
				out = append(out, stolen)
			}
		}
	}
	return out
}

// stealFrom returns the object, or nil if it was removed in the meantime.
func (c *client) stealFrom(t *testing.T, gvr schema.GroupVersionResource, o unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	var is *unstructured.Unstructured
	for _, manager := range []string{"first", "second"} {
		text := fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q, "namespace": %q, "uid": %q, "labels": {%q: %q}}}`,
			o.GetAPIVersion(), o.GetKind(), o.GetName(), o.GetNamespace(), o.GetUID(), stolen, manager)
		var err error
		if is, err = c.try(t, gvr, text, manager); apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		} else if err != nil {
			t.Fatalf("%s %s/%s: %v", gvr, o.GetNamespace(), o.GetName(), err)
		}
	}
	return is
}

// history runs owners --history for a path.
func (c *client) history(t *testing.T, o *unstructured.Unstructured, path string) (message string, status int) {
	t.Helper()
	gvk := o.GroupVersionKind()
	kind := gvk.Kind + "." + gvk.Version + "." + gvk.Group
	return c.owners(t, kind, o.GetName(), "-n", o.GetNamespace(), "--path", path, "--history")
}

// owners runs the verb of the plugin.
func (c *client) owners(t *testing.T, args ...string) (message string, status int) {
	t.Helper()
	return c.plugin(t, "owners", args...)
}

// plugin runs a verb of the plugin.
func (c *client) plugin(t *testing.T, verb string, args ...string) (message string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"kubectl-k8sconnect", verb, "--kubeconfig", c.KubeconfigPath, "--cache-dir", c.Dir + "/plugin-cache"}, args...)
	status = cli.Main(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs})
	return out.String() + errs.String(), status
}

// For a user with only the role view, in one namespace, the answer "no takeovers recorded" is
// right there.
func TestViewerSeesNoTakeover(t *testing.T) {
	c := newClient(t, "")
	c.namespace(t, "viewed")
	c.apply(t, configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: quiet, namespace: viewed}, data: {a: '1'}}", "flux")
	c.kubectl(t, "create", "rolebinding", "view", "-n", "viewed", "--clusterrole=view", "--user=ada")
	var message string
	eventually(t, "the role view and what is published are in force", func() bool {
		var status int
		message, status = c.owners(t, "cm/quiet", "-n", "viewed", "--history", "--as=ada")
		return status == 0
	})
	if !strings.Contains(message, "no takeovers recorded") || !strings.Contains(message, "watched since 2") {
		t.Errorf("she reads:\n%s", message)
	}
	published, err := c.Resource(configMaps).Namespace(ownership.ScopeNamespace).Get(t.Context(), ownership.ScopeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, _, _ := unstructured.NestedStringMap(published.Object, "data")
	if len(data) != 4 || published.Object["binaryData"] != nil || len(data["checkpoint"]) > len(`{"heard":"2026-11-27T00:00:00Z"}`) {
		t.Errorf("published in addition to coverage, scope and namespace: %v", data)
	}
	if message, status := c.owners(t, "cm", "-n", companion.Namespace, "--as=ada"); status != 2 {
		t.Errorf("the user may read other namespaces: status %d\n%s", status, message)
	}
}
