package releases_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// The same as TestForecastsAreRight for charts made of the manifests of real projects.
func TestForecastsOfRealManifests(t *testing.T) {
	dir := os.Getenv("CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "INDEX.md")); err != nil {
		t.Skip("no corpus of real manifests: set CORPUS")
	}
	names := circle.Of([]string{"microservices-demo", "ingress-nginx"},
		[]string{"microservices-demo", "ingress-nginx", "argocd", "kube-prometheus", "hcloud-csi", "kops-hetzner", "metallb", "contour", "volcano", "rook"},
		[]string{"microservices-demo", "ingress-nginx", "argocd", "kube-prometheus", "hcloud-csi", "kops-hetzner", "metallb", "contour", "volcano", "rook"})
	rounds := circle.Of(4, 10, 30)
	var total sum
	t.Run("sets", func(t *testing.T) {
		for i, name := range names {
			methods := circle.Of([]bool{i%2 == 0}, []bool{true, false}, []bool{true, false})
			for _, client := range methods {
				t.Run(fmt.Sprintf("%s client-side=%t", name, client), func(t *testing.T) {
					t.Parallel()
					s := newSite(t, fmt.Sprintf("real-%d-%t", i, client))
					s.kinds = realKinds()
					var n counts
					of := s.real(t, filepath.Join(dir, name))
					if len(of) == 0 {
						t.Fatal("the server accepts no object of it")
					}
					s.realStory(t, rand.New(rand.NewPCG(uint64(i), 53)), of, rounds, client, &n)
					t.Logf("%+v", n)
					total.add(n)
				})
			}
		}
	})
	t.Logf("%+v", total.counts)
	if total.ready == 0 || total.failing == 0 || total.settled == 0 {
		t.Errorf("too few cases of some kind: %+v", total.counts)
	}
}

// The same for the charts of Helm's own tests.
func TestForecastsOfHelmsCharts(t *testing.T) {
	s := newSite(t, "helms")
	charts := s.helmsCharts(t, circle.Of(2, 1000, 1000))
	if len(charts) == 0 {
		t.Skip("no source of Helm in the module cache: go mod download helm.sh/helm/v4")
	}
	names := slices.Sorted(maps.Keys(charts))
	var total sum
	t.Run("charts", func(t *testing.T) {
		for i, name := range names {
			client := i%2 == 0
			t.Run(fmt.Sprintf("%s client-side=%t", name, client), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, fmt.Sprintf("helms-%d", i))
				s.kinds = realKinds()
				var n counts
				of := s.real(t, charts[name])
				if len(of) == 0 {
					t.Skip("the server accepts none of its objects")
				}
				s.realStory(t, rand.New(rand.NewPCG(uint64(i), 55)), of, circle.Of(3, 10, 30), client, &n)
				t.Logf("%+v", n)
				total.add(n)
			})
		}
	})
	t.Logf("%d charts: %+v", len(names), total.counts)
	if total.ready+total.failing == 0 {
		t.Errorf("no forecast: %+v", total.counts)
	}
}

// helmsCharts returns folders with the output of charts that have an object of a known kind.
func (s *site) helmsCharts(t *testing.T, most int) map[string]string {
	t.Helper()
	source := s.helm.Source()
	if source == "" {
		return nil
	}
	out := map[string]string{}
	seen := map[string]bool{}
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "Chart.yaml" || !strings.Contains(path, "/testdata/") {
			return err
		}
		if len(out) == most {
			return fs.SkipAll
		}
		text, err := s.helm.Try(t.Context(), "template", "web", filepath.Dir(path))
		if err != nil || seen[text] || !slices.ContainsFunc(slices.Collect(maps.Keys(realKinds())), func(kind string) bool {
			return strings.Contains(text, "\nkind: "+kind+"\n")
		}) {
			return nil //nolint:nilerr // Many of these charts are invalid on purpose.
		}
		seen[text] = true
		name, err := filepath.Rel(source, filepath.Dir(path))
		if err != nil {
			return err
		}
		out[name] = t.TempDir()
		return os.WriteFile(filepath.Join(out[name], "all.yaml"), []byte(text), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func realKinds() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{
		"ConfigMap": gvr("", "v1", "configmaps"), "Secret": gvr("", "v1", "secrets"), "Service": gvr("", "v1", "services"),
		"ServiceAccount": gvr("", "v1", "serviceaccounts"), "Deployment": gvr("apps", "v1", "deployments"),
		"DaemonSet": gvr("apps", "v1", "daemonsets"), "StatefulSet": gvr("apps", "v1", "statefulsets"),
		"CronJob": gvr("batch", "v1", "cronjobs"), "Role": gvr("rbac.authorization.k8s.io", "v1", "roles"),
		"RoleBinding": gvr("rbac.authorization.k8s.io", "v1", "rolebindings"), "NetworkPolicy": gvr("networking.k8s.io", "v1", "networkpolicies"),
		"PodDisruptionBudget": gvr("policy", "v1", "poddisruptionbudgets"), "Ingress": gvr("networking.k8s.io", "v1", "ingresses"),
	}
}

// real returns objects of a set that the server accepts in the site's namespace.
func (s *site) real(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	const most = 24
	var out []*unstructured.Unstructured
	seen := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq("\n"+string(raw), "\n---") {
			var u unstructured.Unstructured
			if yaml.Unmarshal([]byte(document), &u.Object) != nil || u.Object == nil {
				continue
			}
			kind, known := s.kinds[u.GetKind()]
			const large = 50_000
			if !known || seen[u.GetKind()+u.GetName()] || len(out) == most || len(document) > large || kind.GroupVersion().String() != u.GetAPIVersion() {
				continue
			}
			u.SetNamespace("")
			unstructured.RemoveNestedField(u.Object, "status")
			if strings.Contains(document, "nodePort:") || strings.Contains(document, "clusterIP:") {
				continue // Releases side by side would compete for it.
			}
			_, err := s.of(kind).Patch(t.Context(), u.GetName(), types.ApplyPatchType, []byte(asJSON(u.Object)),
				metav1.PatchOptions{FieldManager: "helm", DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				continue
			}
			seen[u.GetKind()+u.GetName()] = true
			out = append(out, &u)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// realStory upgrades one release again and again.
func (s *site) realStory(t *testing.T, r *rand.Rand, of []*unstructured.Unstructured, rounds int, client bool, total *counts) {
	chart := folder(t, templateOf(t, of))
	s.helm.Run(t, "install", "web", chart, "-n", s.namespace, "--server-side="+strconv.FormatBool(!client))
	for range rounds {
		if t.Failed() {
			return
		}
		for range r.IntN(9) {
			s.rewrite(t, r, of[r.IntN(len(of))])
		}
		args := []string{"web"}
		if r.IntN(2) == 0 { // A changed chart.
			of = slices.Clone(of)
			for range 1 + r.IntN(3) {
				i := r.IntN(len(of))
				of[i] = mutated(r, of[i])
			}
			if len(of) > 2 && r.IntN(4) == 0 {
				i := r.IntN(len(of))
				of = slices.Delete(of, i, i+1)
			}
			chart = folder(t, templateOf(t, of))
			output := filepath.Join(t.TempDir(), "next.yaml")
			if err := os.WriteFile(output, []byte(s.helm.Run(t, "template", "web", chart, "-n", s.namespace)), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--chart-output="+output)
		}
		s.round(t, r, args, &chart, total)
		if client && !t.Failed() { // A server-side upgrade made the release server-side.
			s.helm.Run(t, "upgrade", "web", chart, "-n", s.namespace, "--server-side=false")
		}
	}
}

// templateOf returns a template whose output is the objects.
func templateOf(t *testing.T, of []*unstructured.Unstructured) string {
	t.Helper()
	var texts []string
	for _, u := range of {
		raw, err := yaml.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.ReplaceAll(string(raw), "{{", "{{ `{{` }}"))
	}
	return strings.Join(texts, "---\n")
}

// rewrite changes a live object as a random writer: by an update, by an apply of the whole object, or
// of its scale.
func (s *site) rewrite(t *testing.T, r *rand.Rand, of *unstructured.Unstructured) {
	t.Helper()
	client := s.of(s.kinds[of.GetKind()])
	by := writers()[r.IntN(len(writers()))]
	live, err := client.Get(t.Context(), of.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	next := mutated(r, live)
	switch chance := r.IntN(40); {
	case chance == 0:
		err = client.Delete(t.Context(), of.GetName(), metav1.DeleteOptions{})
	case by.how == "apply":
		next.SetManagedFields(nil)
		next.SetResourceVersion("")
		next.SetUID("")
		unstructured.RemoveNestedField(next.Object, "status")
		_, err = client.Apply(t.Context(), of.GetName(), next, metav1.ApplyOptions{FieldManager: by.manager, Force: true})
	case by.how == "scale" && of.GetKind() == "Deployment":
		patch := fmt.Sprintf(`{"spec": {"replicas": %d}}`, 1+r.IntN(3))
		_, err = client.Patch(t.Context(), of.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: by.manager}, "scale")
	default:
		_, err = client.Update(t.Context(), next, metav1.UpdateOptions{FieldManager: by.manager})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		t.Fatalf("%s/%s: %v", of.GetKind(), of.GetName(), err)
	}
}

// mutated returns a copy of an object with one changed value.
func mutated(r *rand.Rand, of *unstructured.Unstructured) *unstructured.Unstructured {
	u := of.DeepCopy()
	n := 1 + r.IntN(3)
	text := fmt.Sprintf("v%d", n)
	set := func(value any, path ...string) bool {
		return unstructured.SetNestedField(u.Object, value, path...) == nil
	}
	key := func(path ...string) string { // a random key of a map of strings, or ""
		values, _, _ := unstructured.NestedMap(u.Object, path...)
		keys := make([]string, 0, len(values))
		for key := range values {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		if len(keys) == 0 {
			return ""
		}
		return keys[r.IntN(len(keys))]
	}
	if r.IntN(6) > 0 {
		switch u.GetKind() {
		case "ConfigMap":
			if k := key("data"); k != "" && set(text, "data", k) {
				return u
			}
		case "Secret":
			if k := key("data"); k != "" && set(base64.StdEncoding.EncodeToString([]byte(text)), "data", k) {
				return u
			}
		case "Service":
			if k := key("spec", "selector"); k != "" && set(text, "spec", "selector", k) {
				return u
			}
		case "Deployment", "StatefulSet", "DaemonSet":
			if changeWorkload(r, u, int64(n), text) {
				return u
			}
		case "Role":
			if set([]any{map[string]any{"apiGroups": []any{""}, "resources": []any{text}, "verbs": []any{"get"}}}, "rules") {
				return u
			}
		}
	}
	place, name := "labels", "tier"
	if r.IntN(2) == 0 {
		place, name = "annotations", "example.com/note"
	}
	set(text, "metadata", place, name)
	return u
}

func changeWorkload(r *rand.Rand, u *unstructured.Unstructured, n int64, text string) bool {
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return false
	}
	one, _ := containers[r.IntN(len(containers))].(map[string]any)
	switch r.IntN(5) {
	case 0:
		if u.GetKind() != "DaemonSet" {
			return unstructured.SetNestedField(u.Object, n, "spec", "replicas") == nil
		}
		return unstructured.SetNestedField(u.Object, n, "spec", "minReadySeconds") == nil
	case 1:
		return unstructured.SetNestedField(u.Object, text, "spec", "template", "metadata", "annotations", "example.com/restarted") == nil
	case 2:
		one["args"] = []any{text}
	case 3:
		env, _ := one["env"].([]any)
		for _, item := range env {
			if variable, _ := item.(map[string]any); variable["valueFrom"] == nil {
				variable["value"] = text
				break
			}
		}
	default:
		one["image"] = "registry.example/image:" + text
	}
	return unstructured.SetNestedSlice(u.Object, containers, "spec", "template", "spec", "containers") == nil
}
