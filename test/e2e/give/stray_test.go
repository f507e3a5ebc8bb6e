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

// sources are of a kind with two versions: v1 is stored, and v1beta1 has a default that v1 does
// not know. Storage drops it, so each write by way of v1beta1 sets it anew, and the API server
// credits it to whoever writes.
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

// A stray owner of an earlier run is let go by its path: nobody else loses anything, and what is
// stored stays as it is.
func TestStrayIsReleased(t *testing.T) {
	s := newSite(t, "released")
	s.apply(t, "setup", strings.NewReplacer("stray.example.com", "released.example.com").Replace(sources))
	s.kubectl(t, "", "wait", "--for=condition=Established", "crd/sources.released.example.com")
	beta := schema.GroupVersionResource{Group: "released.example.com", Version: "v1beta1", Resource: "sources"}
	s.apply(t, "k8sconnect", "{apiVersion: released.example.com/v1beta1, kind: Source, metadata: {name: a}, spec: {url: a, size: 1}}")
	// So an adoption wrote that did not look for such defaults: by way of the version of the manifest.
	entries, err := json.Marshal(s.get(t, beta, "a").GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	s.update(t, beta, "a", "k8sconnect", `{"metadata": {"managedFields": `+string(entries)+`}}`)
	before := s.get(t, beta, "a")
	if got := fieldsOf(before, "k8sconnect Update"); !strings.Contains(got, "f:language") {
		t.Fatalf("there is no stray to begin with: %v", owners(before))
	}
	if status, _ := s.give(t, "sources.v1beta1.released.example.com/a", ".spec.language", "--from=k8sconnect", "--release"); status != 0 {
		t.Errorf("give ends with %d", status)
	}
	after := s.get(t, beta, "a")
	if got := fmt.Sprint(owners(after)); got != "[k8sconnect Apply]" || content(t, after) != content(t, before) {
		t.Errorf("owners %s\n%s\n%s", got, content(t, before), content(t, after))
	}
	if status, _ := s.plugin(t, "owners", "sources.v1beta1.released.example.com/a"); status != 0 {
		t.Errorf("owners ends with %d", status)
	}
}

// Who moves owners becomes none itself: not by an adoption, and not by give.
func TestNoStrayOwner(t *testing.T) {
	s := newSite(t, "stray")
	s.apply(t, "setup", sources)
	s.kubectl(t, "", "wait", "--for=condition=Established", "crd/sources.stray.example.com")
	beta := schema.GroupVersionResource{Group: "stray.example.com", Version: "v1beta1", Resource: "sources"}
	const manifest = "{apiVersion: stray.example.com/v1beta1, kind: Source, metadata: {name: NAME}, spec: {url: a, size: 1}}"

	path := filepath.Join(t.TempDir(), "adopted.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(manifest, "NAME", "adopted")), 0o600); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "", "apply", "-f", path)
	if status, _ := s.plugin(t, "apply", "-f", path); status != 0 {
		t.Errorf("apply ends with %d", status)
	}
	if got := fmt.Sprint(owners(s.get(t, beta, "adopted"))); got != "[k8sconnect Apply]" {
		t.Errorf("after the adoption: %s", got)
	}

	s.apply(t, "flux", strings.ReplaceAll(manifest, "NAME", "given"))
	if status, _ := s.give(t, "sources.v1beta1.stray.example.com/given", ".spec.size", "--from=flux", "--to=team", "--as-operation=apply"); status != 0 {
		t.Errorf("give ends with %d", status)
	}
	u := s.get(t, beta, "given")
	if got := fmt.Sprint(owners(u)); got != "[flux Apply team Apply]" {
		t.Errorf("after give: %s", got)
	}
	for _, e := range u.GetManagedFields() {
		if e.APIVersion != "stray.example.com/v1beta1" {
			t.Errorf("%s holds its fields at %s", e.Manager, e.APIVersion)
		}
	}
}
