package give_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sources is a kind with two versions: v1 is stored, and v1beta1 has a default that v1 lacks.
// Storage drops it, so each write through v1beta1 sets it again, and the API server makes the
// writer its owner.
const sources = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sources.stray.example.com}
spec:
  group: stray.example.com
  names: {kind: Source, listKind: SourceList, plural: sources, singular: source}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {url: {type: string}, size: {type: integer}}}}}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {url: {type: string}, size: {type: integer}, language: {type: string, default: go}}}}}}}
`

// A stray owner from an earlier run is released by its path: no other owner loses anything, and the
// stored object does not change.
func TestStrayIsReleased(t *testing.T) {
	s := newSite(t, "released")
	s.apply(t, "setup", strings.NewReplacer("stray.example.com", "released.example.com").Replace(sources))
	s.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/sources.released.example.com")
	beta := schema.GroupVersionResource{Group: "released.example.com", Version: "v1beta1", Resource: "sources"}
	s.apply(t, "k8sconnect", "{apiVersion: released.example.com/v1beta1, kind: Source, metadata: {name: a}, spec: {url: a, size: 1}}")
	// This is the write of an adoption that ignored such defaults: in the manifest's version.
	entries, err := json.Marshal(s.get(t, beta, "a").GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	s.update(t, beta, "a", "k8sconnect", `{"metadata": {"managedFields": `+string(entries)+`}}`)
	before := s.get(t, beta, "a")
	if got := fieldsOf(before, "k8sconnect Update"); !strings.Contains(got, "f:language") {
		t.Fatalf("there is no stray owner before give: %v", owners(before))
	}
	if status, _ := s.give(t, "sources.v1beta1.released.example.com/a", ".spec.language", "--from=k8sconnect", "--release"); status != 0 {
		t.Errorf("give: exit status %d, want 0", status)
	}
	after := s.get(t, beta, "a")
	if got := fmt.Sprint(owners(after)); got != "[k8sconnect Apply]" || content(t, after) != content(t, before) {
		t.Errorf("owners %s\n%s\n%s", got, content(t, before), content(t, after))
	}
	if status, _ := s.plugin(t, "owners", "sources.v1beta1.released.example.com/a"); status != 0 {
		t.Errorf("owners: exit status %d, want 0", status)
	}
}

// A client that moves owners does not become one itself: not by an adoption, and not by give.
func TestNoStrayOwner(t *testing.T) {
	s := newSite(t, "stray")
	s.apply(t, "setup", sources)
	s.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/sources.stray.example.com")
	beta := schema.GroupVersionResource{Group: "stray.example.com", Version: "v1beta1", Resource: "sources"}
	const manifest = "{apiVersion: stray.example.com/v1beta1, kind: Source, metadata: {name: NAME}, spec: {url: a, size: 1}}"

	path := filepath.Join(t.TempDir(), "adopted.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(manifest, "NAME", "adopted")), 0o600); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "", "apply", "-f", path)
	if status, _ := s.plugin(t, "apply", "-f", path); status != 0 {
		t.Errorf("apply: exit status %d, want 0", status)
	}
	if got := fmt.Sprint(owners(s.get(t, beta, "adopted"))); got != "[k8sconnect Apply]" {
		t.Errorf("owners after the adoption: %s", got)
	}

	for _, name := range []string{"given", "left"} {
		s.apply(t, "flux", strings.ReplaceAll(manifest, "NAME", name))
		if name == "left" { // from a killed run, or an earlier release
			entries, err := json.Marshal(s.get(t, beta, name).GetManagedFields())
			if err != nil {
				t.Fatal(err)
			}
			s.update(t, beta, name, "k8sconnect-give", `{"metadata": {"managedFields": `+string(entries)+`}}`)
			if got := fmt.Sprint(owners(s.get(t, beta, name))); got != "[flux Apply k8sconnect-give Update]" {
				t.Fatalf("there is no stray owner before give: %s", got)
			}
		}
		if status, _ := s.give(t, "sources.v1beta1.stray.example.com/"+name, ".spec.size", "--from=flux", "--to=team", "--as-operation=apply"); status != 0 {
			t.Errorf("give: exit status %d, want 0", status)
		}
		u := s.get(t, beta, name)
		if got := fmt.Sprint(owners(u)); got != "[flux Apply team Apply]" {
			t.Errorf("owners after give: %s", got)
		}
		for _, e := range u.GetManagedFields() {
			if e.APIVersion != "stray.example.com/v1beta1" {
				t.Errorf("%s owns its fields at %s", e.Manager, e.APIVersion)
			}
		}
	}
}

// If every served version has that default, because the stored one is not served, the receiver
// becomes its owner instead of this verb, even after an earlier run was killed. A release has no
// receiver, and reports what stays. No other owner loses anything.
func TestStrayGoesToTheReceiver(t *testing.T) {
	s := newSite(t, "unserved")
	s.apply(t, "setup", strings.NewReplacer("stray.example.com", "unserved.example.com", "{name: v1, served: true", "{name: v1, served: false").Replace(sources))
	s.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/sources.unserved.example.com")
	beta := schema.GroupVersionResource{Group: "unserved.example.com", Version: "v1beta1", Resource: "sources"}
	for _, name := range []string{"moved", "left", "shared", "released"} {
		s.apply(t, "flux", "{apiVersion: unserved.example.com/v1beta1, kind: Source, metadata: {name: "+name+"}, spec: {url: a, size: 1}}")
	}
	// The state after a run that was killed between its two writes.
	entries, err := json.Marshal(s.get(t, beta, "left").GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	s.update(t, beta, "left", "k8sconnect-give", `{"metadata": {"managedFields": `+string(entries)+`}}`)
	if got := fmt.Sprint(owners(s.get(t, beta, "left"))); got != "[flux Apply k8sconnect-give Update]" {
		t.Fatalf("there is no stray owner before give: %s", got)
	}
	for _, tt := range []struct{ name, how, want string }{
		{"moved", "", "[flux Apply team Apply team Update]"},
		{"left", "", "[flux Apply team Apply team Update]"},
		{"shared", "--share", "[flux Apply team Apply team Update]"},
	} {
		before := s.get(t, beta, tt.name)
		args := []string{"sources.unserved.example.com/" + tt.name, ".spec.size", "--from=flux", "--to=team", "--as-operation=apply"}
		if tt.how != "" {
			args = append(args, tt.how)
		}
		if status, out := s.give(t, args...); status != 0 || strings.Contains(out, "k8sconnect-give") {
			t.Errorf("%s: give: exit status %d, want 0", tt.name, status)
		}
		after := s.get(t, beta, tt.name)
		after.SetGeneration(before.GetGeneration()) // for the server, the default changes the spec
		if got := fmt.Sprint(owners(after)); got != tt.want || content(t, after) != content(t, before) {
			t.Errorf("%s: %s\n%s\n%s", tt.name, got, content(t, before), content(t, after))
		}
		if got := fieldsOf(after, "team Update"); strings.Contains(got, "size") || !strings.Contains(got, "language") {
			t.Errorf("%s: team Update owns %s, want language and not size", tt.name, got)
		}
		if got := fieldsOf(after, "flux Apply"); !strings.Contains(got, "f:url") || strings.Contains(got, "f:size") != (tt.how == "--share") {
			t.Errorf("%s: flux Apply owns %s", tt.name, got)
		}
	}
	if status, out := s.give(t, "sources.unserved.example.com/released", ".spec.size", "--from=flux", "--release"); status != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "the API server set .spec.language during this write and recorded k8sconnect-give as its owner") {
		t.Errorf("give --release: exit status %d, want 0", status)
	}
	if status, _ := s.give(t, "sources.unserved.example.com/released", ".spec.url", "--from=flux", "--to=k8sconnect-give", "--as-operation=apply"); status != 1 {
		t.Errorf("give --to=k8sconnect-give: exit status %d, want 1", status)
	}
}
