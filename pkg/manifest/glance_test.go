package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// refsOf are the references of manifests, sorted.
func refsOf(manifests []object.Manifest) []string {
	var refs []string
	for _, m := range manifests {
		refs = append(refs, m.Ref().GVK.String()+" "+m.Ref().Namespace+"/"+m.Ref().Name)
	}
	slices.Sort(refs)
	return refs
}

// A glance finds what it can see, and no object where there is none.
func TestGlance(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"usual":            {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\ndata:\n  name: c\n", []string{"/v1, Kind=ConfigMap b/a"}},
		"the rest before":  {"data:\n  kind: x\n  metadata:\n    name: no\nmetadata:\n    labels:\n      name: no\n    name: a\nkind: ConfigMap\napiVersion: v1\n", []string{"/v1, Kind=ConfigMap /a"}},
		"quotes, comments": {"# first\napiVersion: \"apps/v1\"\nkind: 'Deployment' # it is\n\nmetadata: # so\n  # not: this\n  annotations:\n    name: no\n  name: 'a'\n", []string{"apps/v1, Kind=Deployment /a"}},
		"metadata nests":   {"apiVersion: v1\nkind: Pod\nmetadata:\n  ownerReferences:\n  - name: no\n  managedFields:\n    - name: no\n  name: a\n", []string{"/v1, Kind=Pod /a"}},
		"documents":        {"---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n---\n# nothing\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n", []string{"/v1, Kind=Pod /a", "/v1, Kind=Pod /b"}},
		"block text":       {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: |\n    apiVersion: v1\n    kind: Pod\n    metadata:\n      name: no\n", []string{"/v1, Kind=ConfigMap /a"}},
		"list": {"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n  spec:\n    items:\n    - name: no\n- metadata:\n    namespace: c\n    name: b\n  kind: Pod\n  apiVersion: v1\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
			[]string{"/v1, Kind=Pod /a", "/v1, Kind=Pod c/b"}},
		"list, indented": {"kind: List\napiVersion: v1\nitems:\n  - kind: Pod\n    apiVersion: v1\n    metadata:\n      name: a\n  -\n    kind: Pod\n    apiVersion: v1\n    metadata:\n      name: b\n", []string{"/v1, Kind=Pod /a", "/v1, Kind=Pod /b"}},
		"flow":           {"{apiVersion: v1, kind: Pod, metadata: {name: a}}\n", nil},
		"flow below":     {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", nil},
		"no name":        {"apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: a-\n", nil},
		"an anchor":      {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: *a\n", nil},
		"a template":     {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Name }}\n", nil},
		"a text":         {"no: object\n", nil},
		"a URL":          {"http://x\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, refsOf(glance(split("x.yaml", []byte(test.text))))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A caller is told of a large input alone, before it is decoded, and reads the same with it.
func TestGlanceOfALargeInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(filenames ...string) (found, told []object.Manifest) {
		t.Helper()
		o := Options{Filenames: filenames, In: strings.NewReader("kind: Pod\napiVersion: v1\nmetadata:\n  name: c\n")}
		o.Glance = func(all []object.Manifest) {
			if found != nil {
				t.Error("told after it was decoded")
			}
			told = all
		}
		result, err := Read(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return result.Objects, told
	}
	write("a.yaml", "kind: Pod\napiVersion: v1\nmetadata:\n  name: a\n")
	if _, told := read(dir); told != nil {
		t.Errorf("told of a small input: %v", refsOf(told))
	}
	write("b.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: b\ndata:\n  x: "+strings.Repeat("x", worthGlance)+"\n")
	found, told := read(dir)
	if diff := cmp.Diff(refsOf(found), refsOf(told)); diff != "" {
		t.Errorf("(-found +told):\n%s", diff)
	}
	if _, told := read(dir, "-"); told != nil {
		t.Errorf("told although standard input may be silent: %v", refsOf(told))
	}
}

// Of real sets, a glance finds every object, but what is in flow style, and nothing else.
func TestGlanceAtCorpus(t *testing.T) {
	dir := corpus(t)
	const flow = 3 // objects in flow style
	seen, unseen := 0, 0
	for _, set := range []string{"argocd", "cilium-1.18", "flux-2.4.0", "gateway-api", "hcloud-csi", "kube-prometheus", "metallb", "microservices-demo", "rook", "volcano"} {
		var told []object.Manifest
		result, err := Read(t.Context(), Options{
			Filenames: []string{filepath.Join(dir, set)}, Recursive: true, SkipInvalid: true, SkipNonObjects: true, Hooks: HooksApply,
			Glance: func(all []object.Manifest) { told = all },
		})
		if err != nil {
			t.Fatal(err)
		}
		if told == nil {
			t.Logf("%s is small", set)
			continue
		}
		saw := refsOf(told)
		for _, ref := range refsOf(result.Objects) {
			if _, found := slices.BinarySearch(saw, ref); found {
				seen++
				continue
			}
			t.Logf("%s: not seen: %s", set, ref)
			unseen++
		}
		is := refsOf(result.Objects)
		for _, ref := range saw {
			if _, found := slices.BinarySearch(is, ref); !found {
				t.Errorf("%s: %s is none", set, ref)
			}
		}
	}
	if seen < 500 || unseen > flow {
		t.Errorf("%d objects were seen, and %d were not", seen, unseen)
	}
}
