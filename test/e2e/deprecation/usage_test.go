package deprecation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// writers are patterns of two rounds of writes, each "MANAGER HOW VERSION", separated by commas. In
// 1.38, v1beta1 of a ResourceClaim is removed, and v1beta2 stays. living are the managers that
// write v1beta1 at the end, left is the number of stale entries.
type writers struct {
	first, second string
	living        []string
	left          int
}

func patterns() map[string]writers {
	const kubectl = "kubectl-client-side-apply"
	return map[string]writers{
		"new":                      {"a patch v1", "", nil, 0},
		"goes-later":               {"a patch v1beta2", "a apply v1beta2", nil, 0},
		"old":                      {"a patch v1beta1", "", []string{"a Update"}, 0},
		"old-twice":                {"a patch v1beta1", "a patch v1beta1", []string{"a Update"}, 0},
		"old-then-new":             {"a patch v1beta1", "a patch v1", nil, 1},
		"old-then-goes-later":      {"a patch v1beta1", "a patch v1beta2", nil, 1},
		"new-then-old":             {"a patch v1", "a patch v1beta1", []string{"a Update"}, 0},
		"put":                      {"a put v1beta1", "", []string{"a Update"}, 0},
		"put-then-new":             {"a put v1beta1", "a put v1", nil, 1},
		"apply":                    {"a apply v1beta1", "", []string{"a Apply"}, 0},
		"apply-then-new":           {"a apply v1beta1", "a apply v1", nil, 0},
		"apply-then-same":          {"a apply v1beta1", "a apply-same v1", nil, 0},
		"apply-new-then-old":       {"a apply v1", "a apply v1beta1", []string{"a Apply"}, 0},
		"two-managers":             {"a patch v1beta1, b patch v1", "", []string{"a Update"}, 0},
		"two-managers-old":         {"a patch v1beta1, b apply v1beta1", "", []string{"a Update", "b Apply"}, 0},
		"two-managers-one-moves":   {"a patch v1beta1, b patch v1beta1", "b patch v1", []string{"a Update"}, 1},
		"two-ways-of-one-manager":  {"a patch v1beta1", "a apply v1", []string{"a Update"}, 0},
		"client-side":              {"- kubectl v1beta1", "", []string{kubectl + " Update"}, 0},
		"client-side-then-new":     {"- kubectl v1beta1", "- kubectl v1", nil, 1},
		"client-side-new-then-old": {"- kubectl v1", "- kubectl v1beta1", []string{kubectl + " Update"}, 0},
	}
}

// A manager is reported if and only if it still writes a removed version: for 200 objects with a
// real server's entries, the verb names exactly those managers.
func TestWriters(t *testing.T) {
	const each = 10
	c := cluster.ForTest(t, cluster.Options{APIServerArgs: []string{"--runtime-config=api/all=true"}})
	s := seeds{c: c, ns: "writers"}
	if err := c.CreateNamespace(t.Context(), s.ns); err != nil {
		t.Fatal(err)
	}
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if s.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	all := patterns()
	want, left := []string{}, 0
	for round := range 2 {
		var files []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			p := all[name]
			for i := range each {
				object := fmt.Sprintf("%s-%d", name, i)
				if round == 0 {
					s.create(t, object)
					for _, manager := range p.living {
						want = append(want, object+" "+manager)
					}
					left += p.left
				}
				files = append(files, s.write(t, object, []string{p.first, p.second}[round], round)...)
			}
		}
		s.kubectlApply(t, files)
		time.Sleep(1100 * time.Millisecond) // entries have times in seconds
	}
	var out, errOut bytes.Buffer
	status := cli.Main(t.Context(), []string{"kubectl-k8sconnect", "deprecated", "-n", s.ns, "-o", "json", "--release=1.38", "--kubeconfig", c.KubeconfigPath},
		genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut})
	var found struct {
		Objects []struct {
			APIVersion, Name string
			Goes             bool
			Writers          []struct{ Manager, Operation string }
		}
		OldEntries int
	}
	if err := json.Unmarshal(out.Bytes(), &found); err != nil || status != 1 {
		t.Fatalf("%v, exit status %d\n%s%s", err, status, &out, &errOut)
	}
	got := []string{}
	for _, o := range found.Objects {
		for _, w := range o.Writers {
			got = append(got, o.Name+" "+w.Manager+" "+w.Operation)
		}
		if !o.Goes || o.APIVersion != "resource.k8s.io/v1beta1" {
			t.Errorf("%+v", o)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || found.OldEntries != left {
		t.Errorf("%d old entries, want %d; (-want +got):\n%s", found.OldEntries, left, diff)
	}
	t.Logf("%d objects, %d writers, %d old entries", each*len(all), len(got), left)
}

type seeds struct {
	c      *cluster.Cluster
	ns     string
	client dynamic.Interface
}

func (s *seeds) at(version string) dynamic.ResourceInterface {
	return s.client.Resource(schema.GroupVersionResource{Group: "resource.k8s.io", Version: version, Resource: "resourceclaims"}).Namespace(s.ns)
}

func claim(name, version string, labels map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/" + version, "kind": "ResourceClaim", "metadata": map[string]any{"name": name, "labels": labels},
	}}
}

func (s *seeds) create(t *testing.T, name string) {
	t.Helper()
	// The server starts to keep entries once a field is owned.
	u := claim(name, "v1", map[string]any{"base": "x"})
	u.Object["spec"] = map[string]any{"devices": map[string]any{}}
	if _, err := s.at("v1").Create(t.Context(), u, metav1.CreateOptions{FieldManager: "base"}); err != nil {
		t.Fatal(err)
	}
}

// write performs a round of writes, and returns the manifest for kubectl apply. Each write sets a
// label with its manager and version.
func (s *seeds) write(t *testing.T, name, writes string, round int) (files []string) {
	t.Helper()
	for one := range strings.SplitSeq(writes, ", ") {
		part := strings.Fields(one)
		if len(part) == 0 {
			continue
		}
		manager, how, version := part[0], part[1], part[2]
		u := claim(name, version, map[string]any{manager + "-" + version: fmt.Sprintf("round-%d", round)})
		text, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		options := metav1.PatchOptions{FieldManager: manager}
		switch how {
		case "kubectl":
			u.SetLabels(map[string]string{"kubectl": version})
			if text, err = u.MarshalJSON(); err == nil {
				files = append(files, string(text))
			}
		case "patch":
			_, err = s.at(version).Patch(t.Context(), name, types.MergePatchType, text, options)
		case "apply-same": // with what the first round applied at the old version
			u.SetLabels(map[string]string{manager + "-v1beta1": "round-0"})
			_, err = s.at(version).Apply(t.Context(), name, u, metav1.ApplyOptions{FieldManager: manager, Force: true})
		case "apply":
			_, err = s.at(version).Apply(t.Context(), name, u, metav1.ApplyOptions{FieldManager: manager, Force: true})
		case "put":
			var live *unstructured.Unstructured
			if live, err = s.at(version).Get(t.Context(), name, metav1.GetOptions{}); err == nil {
				labels := live.GetLabels()
				if labels == nil {
					labels = map[string]string{}
				}
				labels[manager+"-"+version] = fmt.Sprintf("round-%d", round)
				live.SetLabels(labels)
				_, err = s.at(version).Update(t.Context(), live, metav1.UpdateOptions{FieldManager: manager})
			}
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", name, one, err)
		}
	}
	return files
}

func (s *seeds) kubectlApply(t *testing.T, files []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claims.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(files, "\n---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"apply", "-n", s.ns, "-f", path, "--kubeconfig", s.c.KubeconfigPath}
	if out, err := exec.CommandContext(t.Context(), s.c.Binary("kubectl"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
