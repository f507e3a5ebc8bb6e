package give_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// racks is a kind with a list with one key, a list with two, a set, and a map; KIND is the type of
// the first.
const racks = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.GROUP}
spec:
  group: GROUP
  names: {kind: Rack, listKind: RackList, plural: racks, singular: rack}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              items: {type: array, KIND, items: {type: object, required: [name], properties: {name: {type: string}, value: {type: string}}}}
              pairs: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b], items: {type: object, required: [a, b], properties: {a: {type: string}, b: {type: integer}, value: {type: string}}}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              map: {type: object, additionalProperties: {type: string}}
`

const byName = "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]"

// odd are strings that a path has to quote, or that look like parts of a path.
func odd() []string {
	return []string{
		`a"b`, `a]b`, `a[b`, `a.b`, `a\b`, `a\"b`, `'`, "`", "", " ", ".", "[*]", "*", "0", "=", `name="x"`, `,`, "ü日本", "a\nb", "a\tb", "\u202e", "true", "null", "f:x", "k:{}", "$NS", "#", "-",
	}
}

// For all keys, give accepts each path that owners prints, and moves that field and no other.
func TestOddKeys(t *testing.T) {
	s := newSite(t, "odd")
	s.apply(t, "setup", strings.NewReplacer("GROUP", "odd.example.com", "KIND", byName).Replace(racks))
	s.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/racks.odd.example.com")
	gvr := schema.GroupVersionResource{Group: "odd.example.com", Version: "v1", Resource: "racks"}
	var items, pairs, tags []any
	values := map[string]any{}
	for i, key := range odd() {
		items = append(items, map[string]any{"name": key, "value": "1"})
		pairs = append(pairs, map[string]any{"a": key, "b": int64(i), "value": "1"})
		tags = append(tags, key)
		values[key] = "1"
	}
	manifest, err := json.Marshal(map[string]any{
		"apiVersion": "odd.example.com/v1", "kind": "Rack", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"items": items, "pairs": pairs, "tags": tags, "map": values},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.apply(t, "flux", string(manifest))
	s.apply(t, "team", `{"apiVersion": "odd.example.com/v1", "kind": "Rack", "metadata": {"name": "a", "labels": {"team": "x"}}}`)
	before := s.get(t, gvr, "a")
	paths := ownedBy(t, s, "flux")
	var given []string
	for _, path := range paths {
		if strings.HasSuffix(path, ".value") || strings.HasPrefix(path, ".spec.map") && path != ".spec.map" || strings.HasPrefix(path, ".spec.tags[") {
			given = append(given, path)
		}
	}
	if want := 4 * len(odd()); len(given) != want {
		t.Fatalf("%d paths to give, want %d: %q", len(given), want, given)
	}
	// Each path alone in a dry run that reports what it would move; then all of them.
	for _, path := range given {
		if status, out := s.give(t, "racks.odd.example.com/a", path, "--to=team", "--dry-run=client", "-o", "json"); status != 0 || !slices.Contains(movedIn(t, out), path) {
			t.Errorf("%q: status %d", path, status)
		}
	}
	if status, _ := s.give(t, append([]string{"racks.odd.example.com/a", "--to=team", "--from=flux"}, given...)...); status != 0 {
		t.Fatalf("status %d", status)
	}
	got := ownedBy(t, s, "team")
	for _, path := range given {
		if !slices.Contains(got, path) {
			t.Errorf("team does not own %q", path)
		}
	}
	for _, path := range ownedBy(t, s, "flux") {
		if slices.Contains(given, path) {
			t.Errorf("flux still owns %q", path)
		}
	}
	if after := s.get(t, gvr, "a"); content(t, after) != content(t, before) {
		t.Errorf("%s\n%s", content(t, before), content(t, after))
	}
}

// ownedBy returns rack a's paths of a manager, as owners prints them.
func ownedBy(t *testing.T, s *site, manager string) []string {
	t.Helper()
	status, out := s.plugin(t, "owners", "racks.odd.example.com/a", "-o", "json")
	var document struct {
		Objects []struct {
			Fields []struct {
				Path   string
				Owners []struct{ Manager string }
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil || status != 0 {
		t.Fatalf("status %d, %v", status, err)
	}
	var paths []string
	for _, f := range document.Objects[0].Fields {
		for _, o := range f.Owners {
			if o.Manager == manager {
				paths = append(paths, f.Path)
			}
		}
	}
	return paths
}

// movedIn returns the given paths in a document.
func movedIn(t *testing.T, out string) []string {
	t.Helper()
	var document struct {
		Objects []struct{ Fields []struct{ Path string } }
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, o := range document.Objects {
		for _, f := range o.Fields {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// A list whose type has changed since its owners wrote it is given as they own it, or refused. No
// value changes, and no other owner loses anything.
func TestListTypeChanged(t *testing.T) {
	for name, types := range map[string][2]string{
		"narrowed": {byName, "x-kubernetes-list-type: atomic"}, "widened": {"x-kubernetes-list-type: atomic", byName},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, name)
			group := name + ".example.com"
			define := func(kind string) {
				s.apply(t, "setup", strings.NewReplacer("GROUP", group, "KIND", kind).Replace(racks))
				s.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/racks."+group)
			}
			define(types[0])
			gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "racks"}
			s.apply(t, "flux", `{"apiVersion": "`+group+`/v1", "kind": "Rack", "metadata": {"name": "a"}, "spec": {"map": {"x": "1"}, "items": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}}`)
			s.apply(t, "team", `{"apiVersion": "`+group+`/v1", "kind": "Rack", "metadata": {"name": "a", "labels": {"team": "x"}}}`)
			define(types[1])
			before := s.get(t, gvr, "a")
			for _, path := range []string{".spec.items[name=\"a\"].value", ".spec.items[0].value", ".spec.items", ".spec.map.x"} {
				status, out := s.give(t, "racks."+group+"/a", path, "--from=flux", "--to=team")
				after := s.get(t, gvr, "a")
				after.SetGeneration(before.GetGeneration())
				if status == 2 || content(t, after) != content(t, before) || strings.Contains(out, "panic") {
					t.Errorf("%s: status %d\n%s\n%s", path, status, content(t, before), content(t, after))
				}
				if got := fieldsOf(after, "team Apply"); !strings.Contains(got, "f:team") {
					t.Errorf("%s: team owns %s, want its label among them", path, got)
				}
			}
			if got := fieldsOf(s.get(t, gvr, "a"), "team Apply"); !strings.Contains(got, "f:items") || !strings.Contains(got, "f:x") {
				t.Errorf("team owns %s, want the items and the map's x", got)
			}
		})
	}
}

// A value that a policy sets at each write also changes with give's write. give reports that, and
// the value's owner stays the same.
func TestPolicyThatRewrites(t *testing.T) {
	s := newSite(t, "policy")
	s.apply(t, "flux", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1", "b": "1"}}`)
	s.apply(t, "setup", `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: policy-stamp}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: policy}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{data: {"stamp": oldObject.metadata.resourceVersion}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: policy-stamp}
spec: {policyName: policy-stamp}
`)
	t.Cleanup(func() {
		s.kubectl(t, "", "delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", "policy-stamp")
	})
	for i := 0; !strings.Contains(content(t, s.get(t, configMaps, "a")), `"stamp":`); i++ {
		s.update(t, configMaps, "a", "probe", fmt.Sprintf(`{"metadata": {"labels": {"probe": "%d"}}}`, i))
		if t.Context().Err() != nil || i > 10_000 {
			t.Fatal("the policy never came into force")
		}
	}
	status, out := s.give(t, "cm/a", ".data.a", "--from=flux", "--to=team", "--as-operation=apply")
	if status != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "an admission webhook or a policy changed .data.stamp during this write") {
		t.Errorf("status %d", status)
	}
	u := s.get(t, configMaps, "a")
	if got := fieldsOf(u, "team Apply"); !strings.Contains(got, "f:a") {
		t.Errorf("team owns %s, want .data.a among them", got)
	}
	if got := fmt.Sprint(owners(u)); got != "[flux Apply team Apply probe Update]" {
		t.Errorf("owners %s", got)
	}
}

// Giving fields to their own owner does nothing; giving them to the owner's other operation does.
func TestGiveToSameOwner(t *testing.T) {
	s := newSite(t, "oneself")
	s.apply(t, "flux", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}`)
	s.update(t, configMaps, "a", "flux", `{"data": {"b": "1"}}`)
	version := func() string { return s.get(t, configMaps, "a").GetResourceVersion() }
	before := version()
	for _, args := range [][]string{{".data.a"}, {".data.a", "--share"}, {".data.a", "--dry-run=server"}} {
		if status, out := s.give(t, append(append([]string{"cm/a"}, args...), "--from=flux", "--to=flux")...); status != 0 || !strings.Contains(out, "1 unchanged") {
			t.Errorf("%s: status %d", args, status)
		}
	}
	if got := version(); got != before {
		t.Errorf("the resource version changed from %s to %s, but there was nothing to write", before, got)
	}
	if status, out := s.give(t, "cm/a", "--from=flux", "--to=flux"); status != 0 || !strings.Contains(out, ".data.b") {
		t.Errorf("status %d", status)
	}
	if got := fmt.Sprint(owners(s.get(t, configMaps, "a"))); got != "[flux Apply]" {
		t.Errorf("owners %s", got)
	}
}

// An object that was deleted, recreated, or lost its managed fields between two runs is reported as
// such, and no write meant for the former object reaches it.
func TestGiveRecreatedObject(t *testing.T) {
	s := newSite(t, "back")
	const manifest = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}`
	s.apply(t, "flux", manifest)
	give := func() (int, string) {
		return s.give(t, "cm/a", ".data.a", "--from=flux", "--to=team", "--as-operation=apply")
	}
	s.kubectl(t, "", "delete", "cm", "a")
	if status, out := give(); status != 2 || !strings.Contains(out, "not found") {
		t.Errorf("after the deletion: status %d, want 2", status)
	}
	s.kubectl(t, manifest, "create", "--field-manager=human", "-f", "-")
	if status, out := give(); status != 1 || !strings.Contains(out, "flux does not own .data.a: human (Update) does") {
		t.Errorf("after the recreation: status %d, want 1", status)
	}
	if got := owners(s.get(t, configMaps, "a")); fmt.Sprint(got) != "[human Update]" {
		t.Errorf("owners %s", got)
	}
}

// The API server stores an object without managed fields if more owners would make it too large for
// etcd. give restores the former ones and reports the refusal; moving them is possible.
func TestTooLargeForMoreOwners(t *testing.T) {
	s := newSite(t, "toolarge")
	s.apply(t, "setup", strings.NewReplacer("GROUP", "toolarge.example.com", "KIND", "x-kubernetes-list-type: atomic").Replace(racks))
	s.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/racks.toolarge.example.com")
	gvr := schema.GroupVersionResource{Group: "toolarge.example.com", Version: "v1", Resource: "racks"}
	keys := map[string]string{}
	for i := range 11_500 {
		keys[fmt.Sprintf("key-%05d-%s", i, strings.Repeat("k", 30))] = ""
	}
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	s.apply(t, "flux", `{"apiVersion": "toolarge.example.com/v1", "kind": "Rack", "metadata": {"name": "a"}, "spec": {"map": `+string(text)+`}}`)
	s.apply(t, "team", `{"apiVersion": "toolarge.example.com/v1", "kind": "Rack", "metadata": {"name": "a", "labels": {"team": "x"}}}`)
	before := s.get(t, gvr, "a")
	status, out := s.give(t, "racks.toolarge.example.com/a", "--from=flux", "--to=team", "--share")
	after := s.get(t, gvr, "a")
	if message := strings.Join(strings.Fields(out), " "); status != 1 || !strings.Contains(message, "the previous ones were restored") {
		t.Errorf("status %d", status)
	}
	if got := fmt.Sprint(owners(after)); got != "[flux Apply team Apply]" || content(t, after) != content(t, before) {
		t.Errorf("owners %s", got)
	}
	for _, owner := range owners(before) {
		if fieldsOf(before, owner) != fieldsOf(after, owner) {
			t.Errorf("%s has other fields than before", owner)
		}
	}
	if status, _ := s.give(t, "racks.toolarge.example.com/a", "--from=flux", "--to=team"); status != 0 {
		t.Errorf("status %d", status)
	}
	if got := fmt.Sprint(owners(s.get(t, gvr, "a"))); got != "[team Apply]" {
		t.Errorf("owners %s", got)
	}
}
