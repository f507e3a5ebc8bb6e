package releases_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objects are objects by "KIND NAME".
type objects map[string]*unstructured.Unstructured

// manifest returns the objects of the release's manifest, as Helm stored it, with the stringData of
// Secrets as the server stores it.
func (s *site) manifest(t *testing.T) objects {
	t.Helper()
	out := objects{}
	text := "\n" + s.helm.Run(t, "get", "manifest", "web", "-n", s.namespace)
	for document := range strings.SplitSeq(text, "\n---\n") {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		if plain, _, _ := unstructured.NestedStringMap(u.Object, "stringData"); plain != nil {
			data, _, _ := unstructured.NestedStringMap(u.Object, "data")
			if data == nil {
				data = map[string]string{}
			}
			for key, value := range plain {
				data[key] = base64.StdEncoding.EncodeToString([]byte(value))
			}
			delete(u.Object, "stringData")
			if err := unstructured.SetNestedStringMap(u.Object, data, "data"); err != nil {
				t.Fatal(err)
			}
		}
		if u.Object != nil {
			out[u.GetKind()+" "+u.GetName()] = &u
		}
	}
	return out
}

// live returns the live objects of the charts.
func (s *site) live(t *testing.T) objects {
	t.Helper()
	out := objects{}
	for kind, gvr := range s.kinds {
		list, err := s.of(gvr).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range list.Items {
			out[kind+" "+u.GetName()] = &u
		}
	}
	return out
}

// written checks the values after an upgrade: each path that was forecast to be overwritten
// has the value of the manifest, and no other value that another manager owned has changed to it.
func (s *site) written(t *testing.T, f forecast, before objects, total *counts) {
	t.Helper()
	manifest, after := s.manifest(t), s.live(t)
	forecast := map[string][]string{}
	for _, o := range f.Overwrites {
		name := o.Kind + " " + o.Name
		for _, p := range o.Paths {
			forecast[name] = append(forecast[name], p.Path)
			want, declared := at(manifest[name].Object, p.Path)
			if !declared {
				continue // Helm adds the marks of the release.
			}
			got, _ := at(after[name].Object, p.Path)
			if !within(want, got) {
				t.Errorf("%s: %s is %s after the upgrade, want %s of the manifest", name, p.Path, asJSON(got), asJSON(want))
			}
			total.values++
		}
	}
	for name, u := range manifest {
		old := before[name]
		if old == nil {
			continue
		}
		for _, path := range leaves(u.Object, "") {
			was, existed := at(old.Object, path)
			is, _ := at(after[name].Object, path)
			if !existed || asJSON(was) == asJSON(is) || slices.ContainsFunc(forecast[name], func(p string) bool { return strings.HasPrefix(path, p) }) {
				continue
			}
			for _, e := range old.GetManagedFields() {
				if e.Manager != "helm" && e.Subresource != "status" && ownsLeaf(t, e, path) {
					t.Errorf("%s: the upgrade has overwritten %s of %s, which was not forecast: %s, was %s\n%s", name, path, e.Manager, asJSON(is), asJSON(was), e.FieldsV1.GetRawString())
				}
			}
		}
	}
}

// removed checks the fields that the manifest lacks: those that a client-side upgrade was forecast to remove have
// the forecast value, and no other field that another manager owned has changed.
func (s *site) removed(t *testing.T, f forecast, client bool, before objects, total *counts) {
	t.Helper()
	manifest, after := s.manifest(t), s.live(t)
	forecast := map[string][]string{}
	for _, o := range f.Removes {
		if !client {
			break
		}
		name := o.Kind + " " + o.Name
		for _, p := range o.Paths {
			forecast[name] = append(forecast[name], p.Path)
			if got, has := at(after[name].Object, p.Path); has != (p.Yours != nil) || has && asJSON(got) != asJSON(p.Yours) {
				t.Errorf("%s: %s is %s after the upgrade, want %s", name, p.Path, asJSON(got), asJSON(p.Yours))
			}
			total.removed++
		}
	}
	for name, old := range before {
		if manifest[name] == nil || after[name] == nil {
			continue
		}
		for _, path := range leaves(old.Object, "") {
			if _, declared := at(manifest[name].Object, path); declared || slices.ContainsFunc(forecast[name], func(p string) bool { return strings.HasPrefix(path, p) }) {
				continue
			}
			was, _ := at(old.Object, path)
			is, _ := at(after[name].Object, path)
			for _, e := range old.GetManagedFields() {
				if e.Manager != "helm" && e.Subresource != "status" && asJSON(was) != asJSON(is) && ownsLeaf(t, e, path) {
					t.Errorf("%s: the upgrade has removed %s of %s, which was not forecast: %s, was %s\n%s", name, path, e.Manager, asJSON(is), asJSON(was), e.FieldsV1.GetRawString())
				}
			}
		}
	}
}

// at returns the value at a path, such as .spec.ports[port=80,protocol="TCP"].name or .data["a.b"]. A
// manifest may omit some of an item's keys.
func at(value any, path string) (found any, ok bool) {
	for path != "" {
		if rest, is := strings.CutPrefix(path, "."); is {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			of, _ := value.(map[string]any)
			if value, ok = of[rest[:end]]; !ok {
				return nil, false
			}
			path = rest[end:]
			continue
		}
		inside, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		path = rest
		var key string
		if json.Unmarshal([]byte(inside), &key) == nil {
			of, _ := value.(map[string]any)
			if value, ok = of[key]; !ok {
				return nil, false
			}
			continue
		}
		list, _ := value.([]any)
		i := slices.IndexFunc(list, func(item any) bool { return matches(item, inside) })
		if i < 0 {
			return nil, false
		}
		value = list[i]
	}
	return value, true
}

func matches(item any, keys string) bool {
	of, _ := item.(map[string]any)
	some := false
	for pair := range strings.SplitSeq(keys, ",") {
		key, want, _ := strings.Cut(pair, "=")
		if got, set := of[key]; set {
			some = true
			if asJSON(got) != want {
				return false
			}
		}
	}
	return some
}

// within reports whether a live value contains a declared one: a live map may have more keys.
func within(declared, live any) bool {
	want, is := declared.(map[string]any)
	if !is {
		return asJSON(declared) == asJSON(live)
	}
	have, _ := live.(map[string]any)
	for key, value := range want {
		if !within(value, have[key]) {
			return false
		}
	}
	return true
}

// leaves returns the paths of scalars that are in no list, and whose names have no dots.
func leaves(value map[string]any, path string) []string {
	var out []string
	for key, v := range value {
		if strings.ContainsAny(key, `."[/`) {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			out = append(out, leaves(v, path+"."+key)...)
		case []any, nil:
		default:
			out = append(out, path+"."+key)
		}
	}
	return out
}

// ownsLeaf reports whether an entry contains a path of leaves, or an atomic map above it. The owner of a map of texts
// does not own its values: give can leave it to a manager that has given all of them away.
func ownsLeaf(t *testing.T, e metav1.ManagedFieldsEntry, path string) bool {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(e.FieldsV1.GetRawString()), &fields); err != nil {
		t.Fatal(err)
	}
	names := strings.Split(strings.TrimPrefix(path, "."), ".")
	for i, name := range names {
		below, is := fields["f:"+name].(map[string]any)
		if !is {
			return false
		}
		if fields = below; len(fields) == 0 {
			return i == len(names)-1 || !slices.Contains([]string{"data", "labels", "annotations"}, name)
		}
	}
	return false
}

func asJSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(raw)
}
