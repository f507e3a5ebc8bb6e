package migration_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	yamltext "sigs.k8s.io/yaml"
)

// manifests is a set of manifests.
type manifests struct {
	name, namespace string
	objects         []*unstructured.Unstructured
	// text is the manifests as a file.
	text, file string
	// elsewhere contains the cluster-scoped objects of earlier sets.
	elsewhere map[string]bool
}

// readCorpus reads the corpus of real manifests, which is not part of the project (CORPUS names its
// folder), or else the project's samples.
func readCorpus(t *testing.T) []manifests {
	t.Helper()
	dir := cmp.Or(os.Getenv("CORPUS"), filepath.Join("..", "..", "..", "..", "shared", "corpus"))
	if _, err := os.Stat(filepath.Join(dir, "INDEX.md")); err != nil {
		dir = filepath.Join("..", "testdata")
		t.Log("no corpus here: running on the project's own samples")
	}
	folders, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var sets []manifests
	elsewhere := map[string]bool{}
	for _, f := range folders {
		set := manifests{name: f.Name(), namespace: "set-" + strings.ReplaceAll(f.Name(), ".", "-"), elsewhere: elsewhere}
		if f.IsDir() {
			set.read(t, filepath.Join(dir, f.Name()))
		}
		if len(set.objects) > 0 {
			sets = append(sets, set)
		}
		for _, u := range set.objects {
			elsewhere[nameOf(u)] = true
		}
	}
	if len(sets) == 0 {
		t.Fatalf("no manifests in %s", dir)
	}
	return sets
}

// defaulted is the project's own set, which every tool migrates.
func defaulted(t *testing.T) manifests {
	t.Helper()
	set := manifests{name: "defaulted", namespace: "set-defaulted"}
	set.read(t, filepath.Join("testdata", set.name))
	if len(set.objects) != 2 {
		t.Fatalf("%d objects, want 2", len(set.objects))
	}
	return set
}

func (m *manifests) read(t *testing.T, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			m.readFile(path)
		}
		return nil
	})
	slices.SortStableFunc(m.objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	var text strings.Builder
	for _, u := range m.objects {
		content, err := yamltext.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(content))
	}
	m.text, m.file = text.String(), filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(m.file, []byte(m.text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readFile adds a file's objects, and skips documents that are not objects.
func (m *manifests) readFile(path string) {
	content, err := os.ReadFile(path)
	if err != nil {
		return
	}
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 1<<16)
	for {
		var u unstructured.Unstructured
		switch err := d.Decode(&u.Object); {
		case errors.Is(err, io.EOF), err != nil:
			return
		case u.IsList():
			_ = u.EachListItem(func(o runtime.Object) error {
				m.add(o.(*unstructured.Unstructured))
				return nil
			})
		default:
			m.add(&u)
		}
	}
}

// add skips objects that change what the server admits or serves, and duplicates in this set or, if
// cluster-scoped, in an earlier one: another form of an object would be another write, and a
// takeover.
func (m *manifests) add(u *unstructured.Unstructured) {
	if u.GetAPIVersion() == "" || u.GetName() == "" || u.GetKind() == "Namespace" || u.GetKind() == "APIService" ||
		strings.HasPrefix(u.GetAPIVersion(), "admissionregistration.k8s.io/") ||
		m.elsewhere[nameOf(u)] ||
		slices.ContainsFunc(m.objects, func(o *unstructured.Unstructured) bool { return nameOf(o) == nameOf(u) }) {
		return
	}
	m.objects = append(m.objects, u)
}

func nameOf(u *unstructured.Unstructured) string {
	return u.GetKind() + "/" + u.GetNamespace() + "/" + u.GetName()
}

func rank(u *unstructured.Unstructured) int {
	switch u.GetKind() {
	case "CustomResourceDefinition":
		return 0
	case "ServiceAccount", "PriorityClass", "StorageClass":
		return 1
	}
	return 2
}

// namespaces creates the set's namespaces.
func (s *site) namespaces(t *testing.T, set manifests) {
	t.Helper()
	names := map[string]bool{set.namespace: true}
	for _, u := range set.objects {
		if u.GetNamespace() != "" {
			names[u.GetNamespace()] = true
		}
	}
	for name := range names {
		s.run(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}", s.Binary("kubectl"), "apply", "--server-side", "--field-manager=setup", "-f", "-")
		_, err := s.typed.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// defines reports whether the set contains definitions.
func (m *manifests) defines() bool {
	return slices.ContainsFunc(m.objects, func(u *unstructured.Unstructured) bool { return u.GetKind() == "CustomResourceDefinition" })
}

// established waits until all defined kinds are served.
func (s *site) established(t *testing.T) {
	t.Helper()
	definitions := s.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		list, err := definitions.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Items, func(u unstructured.Unstructured) bool { return !isEstablished(u) })
		if i < 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not established", list.Items[i].GetName())
		}
	}
}

func isEstablished(u unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
}

// definitions creates the set's definitions, and returns the objects for Helm that are served
// without them.
func (m *manifests) definitions(t *testing.T, s *site) {
	t.Helper()
	var own, all strings.Builder
	for _, u := range m.objects {
		content, err := yamltext.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		if u.GetKind() == "CustomResourceDefinition" {
			own.WriteString("---\n" + string(content))
		}
	}
	if own.Len() > 0 {
		s.run(t, own.String(), s.Binary("kubectl"), "apply", "--server-side", "-f", "-")
		s.established(t)
	}
	served := s.run(t, "", s.Binary("kubectl"), "api-resources", "-o", "wide", "--no-headers")
	for _, u := range m.objects {
		content, _ := yamltext.Marshal(u.Object)
		if u.GetKind() != "CustomResourceDefinition" && strings.Contains(served, " "+u.GetAPIVersion()+" ") {
			all.WriteString("---\n" + string(content))
		}
	}
	m.text = all.String()
}
