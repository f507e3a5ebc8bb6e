package stuck

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// memory is a Reader of what a test says.
type memory struct {
	objects []*unstructured.Unstructured
	answers

	mu    sync.Mutex
	asked []string
}

// answers are what a server says beside its objects.
type answers struct {
	// failing are the kinds that can not be read, and why.
	failing map[string]error
	// refusal is the answer to every removal of a finalizer.
	refusal error
	// may tells who may do what: "user verb". Nobody else may.
	may []string
}

// now is when all tests happen.
func now() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// read reads objects, parted by lines of dashes.
func read(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var u unstructured.Unstructured
		data, err := yaml.YAMLToJSON([]byte(doc))
		if err == nil {
			err = u.UnmarshalJSON(data)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		objects = append(objects, &u)
	}
	return objects
}

func (m *memory) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, what)
}

func (m *memory) Get(_ context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	m.note("get " + gvk.Kind + "/" + name)
	if err := m.failing[gvk.Kind]; err != nil {
		return nil, err
	}
	for _, u := range m.objects {
		if u.GroupVersionKind() == gvk && u.GetNamespace() == namespace && u.GetName() == name {
			return u.DeepCopy(), nil
		}
	}
	return nil, nil
}

func (m *memory) List(_ context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	m.note("list " + gvk.Kind)
	return m.list(gvk, sel)
}

func (m *memory) list(gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	if err := m.failing[gvk.Kind]; err != nil {
		return nil, err
	}
	var found []unstructured.Unstructured
	for _, u := range m.objects {
		if u.GroupVersionKind() == gvk && (sel.Namespace == "" || u.GetNamespace() == sel.Namespace) {
			found = append(found, *u.DeepCopy())
		}
	}
	return found, nil
}

func (m *memory) Metadata(_ context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	m.note("metadata " + gvk.Kind)
	objects, err := m.list(gvk, sel)
	for _, u := range objects {
		for field := range u.Object {
			if field != "metadata" && field != "kind" && field != "apiVersion" {
				delete(u.Object, field)
			}
		}
	}
	return objects, err
}

func (m *memory) Kinds(context.Context) ([]object.Kind, error) {
	if err := m.failing["kinds"]; err != nil {
		return nil, err
	}
	var kinds []object.Kind
	for _, u := range m.objects {
		k := object.Kind{
			GVK: u.GroupVersionKind(), Resource: strings.ToLower(u.GetKind()) + "s",
			Namespaced: u.GetNamespace() != "", Verbs: []string{"list", "delete", "get"},
		}
		if !slices.ContainsFunc(kinds, func(o object.Kind) bool { return o.GVK == k.GVK }) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

func (m *memory) DryRunRemoveFinalizer(_ context.Context, ref object.Ref, _ *unstructured.Unstructured, finalizer string) error {
	m.note("replay " + ref.String() + " " + finalizer)
	return m.refusal
}

func (m *memory) Allowed(_ context.Context, user, verb string, _ object.Ref) (bool, error) {
	return slices.Contains(m.may, user+" "+verb), nil
}

func forbidden(kind string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", nil)
}
