// Package give_test checks the verb give with a real API server and the real Helm.
package give_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

var shared cluster.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// site is a cluster with a namespace for the test.
type site struct {
	*cluster.Cluster
	dynamic.Interface
	namespace string
}

func newSite(t *testing.T, namespace string) *site {
	t.Helper()
	s := &site{Cluster: shared.Cluster(t), namespace: namespace}
	config, err := s.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	s.Interface = dynamic.NewForConfigOrDie(config)
	s.apply(t, "setup", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	return s
}

// give runs the verb in the test's namespace.
func (s *site) give(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	return s.plugin(t, append([]string{"give"}, args...)...)
}

func (s *site) plugin(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	args = append([]string{"kubectl-k8sconnect"}, append(args, "--kubeconfig="+s.KubeconfigPath, "--cache-dir="+t.TempDir(), "-n", s.namespace)...)
	status = cli.Main(t.Context(), args, streams)
	t.Logf("%s\n%s%s", strings.Join(args[1:len(args)-4], " "), stdout, stderr)
	return status, stdout.String() + stderr.String()
}

// kubectl runs kubectl in the test's namespace.
func (s *site) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := s.tryKubectl(t, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *site) tryKubectl(t *testing.T, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), s.Binary("kubectl"), append(args, "--kubeconfig", s.KubeconfigPath, "--cache-dir", t.TempDir(), "-n", s.namespace)...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &out
	err := cmd.Run()
	return out.String(), err
}

// apply applies a manifest server-side.
func (s *site) apply(t *testing.T, manager, manifest string) {
	t.Helper()
	s.kubectl(t, manifest, "apply", "--server-side", "--force-conflicts", "--field-manager="+manager, "-f", "-")
}

// update changes fields by an update as a manager, optionally of a subresource.
func (s *site) update(t *testing.T, gvr schema.GroupVersionResource, name, manager, patch string, subresource ...string) {
	t.Helper()
	_, err := s.of(gvr).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}, subresource...)
	if err != nil {
		t.Fatal(err)
	}
}

// of returns a client for a kind in the test's namespace.
func (s *site) of(gvr schema.GroupVersionResource) dynamic.ResourceInterface {
	if gvr.Resource == "clusterroles" || strings.HasSuffix(gvr.Resource, "webhookconfigurations") {
		return s.Resource(gvr)
	}
	return s.Resource(gvr).Namespace(s.namespace)
}

func (s *site) get(t *testing.T, gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := s.of(gvr).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// owners returns an object's managers, with their operations.
func owners(u *unstructured.Unstructured) []string {
	var out []string
	for _, e := range u.GetManagedFields() {
		name := e.Manager + " " + string(e.Operation)
		if e.Subresource != "" {
			name += ":" + e.Subresource
		}
		out = append(out, name)
	}
	return out
}

// fieldsOf returns a manager's fields as JSON, or "".
func fieldsOf(u *unstructured.Unstructured, owner string) string {
	for i, name := range owners(u) {
		if name == owner {
			return string(u.GetManagedFields()[i].FieldsV1.GetRawBytes())
		}
	}
	return ""
}

// content returns an object without counters and bookkeeping.
func content(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	out := u.DeepCopy()
	out.SetManagedFields(nil)
	out.SetResourceVersion("")
	text, err := json.Marshal(out.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
