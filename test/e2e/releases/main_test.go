// Package releases_test checks the verb releases with a real API server. The judge is the real Helm.
package releases_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

var shared cluster.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// site is a namespace of a cluster, with Helm.
type site struct {
	*cluster.Cluster
	dynamic.Interface
	helm      *chart.Helm
	namespace string
	// kinds are the kinds of the charts' objects.
	kinds map[string]schema.GroupVersionResource
}

func newSite(t *testing.T, namespace string) *site {
	t.Helper()
	s := &site{Cluster: shared.Cluster(t), namespace: namespace, kinds: map[string]schema.GroupVersionResource{}}
	for _, kind := range kinds() {
		s.kinds[kind.name] = kind.gvr
	}
	config, err := s.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	s.Interface = dynamic.NewForConfigOrDie(config)
	s.helm = chart.NewHelm(t, s.KubeconfigPath)
	s.apply(t, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "setup", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	return s
}

// plugin runs a verb in the namespace.
func (s *site) plugin(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	args = append([]string{"kubectl-k8sconnect"}, append(args, "--kubeconfig="+s.KubeconfigPath, "--cache-dir="+t.TempDir(), "-n", s.namespace)...)
	status = cli.Main(context.WithoutCancel(t.Context()), args, streams)
	return status, out.String(), errOut.String()
}

func (s *site) apply(t *testing.T, gvr schema.GroupVersionResource, manager, manifest string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	var u unstructured.Unstructured
	if err := json.Unmarshal(raw, &u.Object); err != nil {
		t.Fatal(err)
	}
	force := true
	_, err = s.of(gvr).Patch(t.Context(), u.GetName(), types.ApplyPatchType, raw, metav1.PatchOptions{FieldManager: manager, Force: &force})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) of(gvr schema.GroupVersionResource) dynamic.ResourceInterface {
	if gvr.Resource == "namespaces" || gvr.Resource == "customresourcedefinitions" {
		return s.Resource(gvr)
	}
	return s.Resource(gvr).Namespace(s.namespace)
}

// folder writes a chart of one template.
func folder(t *testing.T, template string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml": "{apiVersion: v2, name: web, version: 0.1.0}", "templates/all.yaml": template,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// forecast is what the test reads of the verb's JSON.
type forecast struct {
	Namespace, Name string
	Driver          string
	Twice           bool
	Revision        int
	ServerSide      bool
	Forecast        string
	Objects         int
	Conflicts       []paths
	Overwrites      []paths
	Removes         []paths
	Leftovers       []leftover
	Manager         string
	Flux            bool
	Refusals        []named
	// RefusalsServerSide are those with --server-side=true.
	RefusalsServerSide []named
	Unread             []named
	Gone               []named
	Deletes            []named
	Autoscaled         []named
	Foreign            []struct {
		Kind, Name, Owner string
		Absent            bool
	}
	Orphans []struct {
		Name     string
		Revision int
		Listed   bool
	}
	Refused *struct{ Message, Hint string }
	Next    []string
}

// leftover are fields that only a failed revision set.
type leftover struct {
	Kind, Name    string
	Paths         []string
	Revision      int
	Listed, Stays bool
}

type named struct{ Kind, Name string }

type paths struct {
	Kind, Name string
	Paths      []struct {
		Path  string
		Yours any
	}
}

func (s *site) forecasts(t *testing.T, args ...string) (status int, all []forecast, text string) {
	t.Helper()
	status, stdout, stderr := s.plugin(t, append([]string{"releases", "-o", "json"}, args...)...)
	var result struct{ Releases []forecast }
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	return status, result.Releases, stdout + stderr
}

// normal returns a path as the API server prints it: without quotes around keys of maps.
func normal(path string) string {
	for {
		before, rest, found := strings.Cut(path, `["`)
		if !found {
			return path
		}
		key, after, _ := strings.Cut(rest, `"]`)
		path = before + "." + key + after
	}
}
