package e2e_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// objects reads the objects in a set's folder, without those that failed.
func (s *story) objects(t *testing.T, folder string, failed map[string]int) []*unstructured.Unstructured {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var m manifests
	for _, f := range files {
		m.read(filepath.Join(folder, f.Name()))
	}
	s.api.mapper.Reset()
	return slices.DeleteFunc(m.objects, func(u *unstructured.Unstructured) bool { return failed[u.GetKind()+"/"+u.GetName()] > 0 })
}

// ref returns the object's identity in the cluster.
func (s *story) ref(u *unstructured.Unstructured) object.Ref {
	ref := object.RefOf(u)
	mapping, err := s.api.mapper.RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
	switch {
	case err == nil && mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		ref.Namespace = ""
	case ref.Namespace == "" && len(s.args) == 2: // -n NAMESPACE
		ref.Namespace = s.args[1]
	case ref.Namespace == "":
		ref.Namespace = "default"
	}
	return ref
}

// editSome changes one field that the manifest sets, in one object of each kind, if the server
// accepts it. It returns a map from KIND/NAMESPACE/NAME to the path. It skips definitions, which
// affect other objects.
func (s *story) editSome(t *testing.T, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	const most = 8
	edited, kinds := map[string]string{}, map[string]bool{"CustomResourceDefinition": true, "Namespace": true, "APIService": true}
	for _, u := range objects {
		if kinds[u.GetKind()] || len(edited) == most {
			continue
		}
		if path, ok := s.editOne(t, u); ok {
			kinds[u.GetKind()] = true
			ref := s.ref(u)
			edited[u.GetKind()+"/"+ref.Namespace+"/"+ref.Name] = path
		}
	}
	if len(edited) == 0 && slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return !kinds[u.GetKind()] }) {
		t.Error("the server accepts no change of any object")
	}
	return edited
}

// editOne tries changes in a fixed order until the server accepts and keeps one.
func (s *story) editOne(t *testing.T, manifest *unstructured.Unstructured) (path string, ok bool) {
	t.Helper()
	const tries = 5
	ref := s.ref(manifest)
	declared := scalars(manifest.Object)
	r := rand.New(rand.NewPCG(seed(ref), 34))
	r.Shuffle(len(declared), func(i, j int) { declared[i], declared[j] = declared[j], declared[i] })
	for _, p := range declared[:min(tries, len(declared))] {
		live, err := s.api.get(t.Context(), ref)
		if err != nil {
			return "", false
		}
		there := scalars(live.Object)
		i := slices.IndexFunc(there, func(q place) bool { return q.path == p.path && reflect.DeepEqual(q.value, p.value) })
		if i < 0 {
			continue
		}
		switch v := p.value.(type) {
		case string:
			there[i].set(v+"x", true)
		case bool:
			there[i].set(!v, true)
		case int64:
			there[i].set(v+1, true)
		default:
			continue
		}
		if s.api.update(t.Context(), live, "kubectl-edit") != nil {
			continue
		}
		now, err := s.api.get(t.Context(), ref)
		if err != nil {
			return "", false
		}
		if after := scalars(now.Object); !slices.ContainsFunc(after, func(q place) bool {
			return q.path == p.path && reflect.DeepEqual(q.value, p.value)
		}) {
			return p.path, true
		}
	}
	return "", false
}

// scalars returns the paths of an object's scalars that a manager can own, sorted.
func scalars(object map[string]any) []place {
	var places []place
	for name, v := range object {
		if name != "apiVersion" && name != "kind" && name != "metadata" && name != "status" {
			places = leaves(places, "."+name, v, func(v any, keep bool) { set(object, name, v, keep) })
		}
	}
	// A changed key would be another list item.
	places = slices.DeleteFunc(places, func(p place) bool {
		at := strings.LastIndex(p.path, ".")
		return strings.Contains(p.path, "[") && slices.Contains([]string{"name", "port", "containerPort", "protocol", "key", "mountPath", "ip", "topologyKey", "whenUnsatisfiable", "devicePath", "uid"}, p.path[at+1:])
	})
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	return places
}
