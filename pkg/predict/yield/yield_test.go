package yield_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func TestYield(t *testing.T) {
	tests := map[string]struct {
		entries        []string
		live, manifest string
		yield          []string
		want           string
		yielded        []string
	}{
		"owned by others (edge case 31)": {
			[]string{fieldstest.Entry("hpa", "Update", `{f:spec: {f:replicas: {}}}`)},
			`{replicas: 5}`, `{replicas: 3, a: x}`,
			[]string{".spec.replicas"},
			`{a: x}`,
			[]string{".spec.replicas"},
		},
		"owned by us alone keeps its live value (edge case 32)": {
			[]string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:replicas: {}}}`)},
			`{replicas: 5}`, `{replicas: 3, a: x}`,
			[]string{".spec.replicas"},
			`{replicas: 5, a: x}`,
			[]string{".spec.replicas"},
		},
		"without an owner, keeps its live value (edge case 32)": {
			[]string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:a: {}}}`)},
			`{replicas: 1}`, `{replicas: 3, a: x}`,
			[]string{".spec.replicas"},
			`{replicas: 1, a: x}`,
			[]string{".spec.replicas"},
		},
		"our own update holds it (edge case 6)": {
			[]string{fieldstest.Entry(fieldstest.Us, "Update", `{f:spec: {f:replicas: {}}}`)},
			`{replicas: 5}`, `{replicas: 3, a: x}`,
			[]string{".spec.replicas"},
			`{a: x}`,
			[]string{".spec.replicas"},
		},
		"owned only by us in a map that others applied as empty": {
			[]string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:m: {f:x: {}}}}`), fieldstest.Entry("them", "Apply", `{f:spec: {f:m: {}}}`)},
			`{m: {x: live}}`, `{m: {x: ours}}`,
			[]string{".spec.m.x"},
			`{m: {x: live}}`,
			[]string{".spec.m.x"},
		},
		"not live, without an owner": {
			[]string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:a: {}}}`)},
			`{a: x}`, `{b: x, a: x}`,
			[]string{".spec.b"},
			`{a: x}`,
			[]string{".spec.b"},
		},
		"live null stays null (edge case 16)": {
			[]string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:b: {}}}`)},
			`{b: null}`, `{b: x}`,
			[]string{".spec.b"},
			`{b: null}`,
			[]string{".spec.b"},
		},
		"item of ours with a field of others": {
			[]string{
				fieldstest.Entry("kubectl-set", "Update", `{f:spec: {f:l: {'k:{"name":"app"}': {f:image: {}}}}}`),
				fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:l: {'k:{"name":"app"}': {.: {}, f:name: {}}}}}`),
			},
			`{l: [{name: app, image: "1"}]}`, `{l: [{name: app, image: "2"}]}`,
			[]string{".spec.l"},
			`{l: [{name: app}]}`,
			[]string{".spec.l"},
		},
		"item whose key others own too": {
			[]string{
				fieldstest.Entry("them", "Apply", `{f:spec: {f:l: {'k:{"name":"app"}': {.: {}, f:name: {}, f:image: {}}}}}`),
				fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:a: {}, f:l: {'k:{"name":"app"}': {.: {}, f:name: {}}}}}`),
			},
			`{a: x, l: [{name: app, image: "1"}]}`, `{a: x, l: [{name: app, image: "2"}]}`,
			[]string{".spec.l"},
			`{a: x}`,
			[]string{".spec.l"},
		},
		"not in the manifest": {
			[]string{fieldstest.Entry("hpa", "Update", `{f:spec: {f:replicas: {}}}`)},
			`{replicas: 5}`, `{a: x}`,
			[]string{".spec.replicas", `.spec.l[name="x"]`},
			`{a: x}`, nil,
		},
		"parent that becomes empty is removed (edge case 13)": {
			[]string{fieldstest.Entry("them", "Update", `{f:spec: {f:m: {f:x: {}}}}`)},
			`{m: {x: "1"}}`, `{m: {x: "2"}, a: x, kept: {}}`,
			[]string{".spec.m.x"},
			`{a: x, kept: {}}`,
			[]string{".spec.m.x"},
		},
		"parent owned by others and us": {
			[]string{fieldstest.Entry("them", "Update", `{f:spec: {f:m: {f:x: {}}}}`), fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:m: {f:z: {}}}}`)},
			`{m: {x: "1", z: "1"}}`, `{m: {x: "2", z: "2", new: "2"}}`,
			[]string{".spec.m"},
			`{m: {z: "1"}}`,
			[]string{".spec.m"},
		},
		"path inside an atomic value gets its live value (edge case 5)": {
			[]string{fieldstest.Entry("them", "Update", `{f:spec: {f:selector: {}}}`)},
			`{selector: {x: "1", z: "1"}}`, `{selector: {x: "2", z: "2", new: "2"}}`,
			[]string{".spec.selector.x", ".spec.selector.new"},
			`{selector: {x: "1", z: "2"}}`,
			[]string{".spec.selector.x", ".spec.selector.new"},
		},
		"whole atomic value (edge case 5)": {
			[]string{fieldstest.Entry("them", "Update", `{f:spec: {f:selector: {}}}`)},
			`{selector: {x: "1"}, a: x}`, `{selector: {x: "2"}, a: x}`,
			[]string{".spec.selector"},
			`{a: x}`,
			[]string{".spec.selector"},
		},
		"field of a list item (edge case 4)": {
			[]string{fieldstest.Entry("them", "Update", `{f:spec: {f:l: {'k:{"name":"b"}': {f:v: {}}}}}`), fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}}}}}`)},
			`{l: [{name: x}, {name: b, v: "1"}, {name: a}]}`, `{l: [{name: a}, {name: b, v: "2"}]}`,
			[]string{`.spec.l[name="b"].v`},
			`{l: [{name: a}, {name: b}]}`,
			[]string{`.spec.l[name="b"].v`},
		},
		"list item of others": {
			[]string{fieldstest.Entry("them", "Apply", `{f:spec: {f:l: {'k:{"name":"b"}': {.: {}, f:name: {}, f:v: {}}}}}`)},
			`{l: [{name: b, v: "1"}]}`, `{l: [{name: a}, {name: b, v: "2"}]}`,
			[]string{`.spec.l[name="b"]`},
			`{l: [{name: a}]}`,
			[]string{`.spec.l[name="b"]`},
		},
		"list item of others with a field of ours": {
			[]string{
				fieldstest.Entry("them", "Apply", `{f:spec: {f:l: {'k:{"name":"b"}': {.: {}, f:name: {}, f:v: {}}}}}`),
				fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:l: {'k:{"name":"b"}': {.: {}, f:name: {}, f:w: {}}}}}`),
			},
			`{l: [{name: b, v: "1", w: "1"}]}`, `{l: [{name: b, v: "2", w: "2"}]}`,
			[]string{`.spec.l[name="b"]`},
			`{l: [{name: b, w: "1"}]}`,
			[]string{`.spec.l[name="b"]`},
		},
		"whole list": {
			[]string{
				fieldstest.Entry("them", "Apply", `{f:spec: {f:l: {'k:{"name":"b"}': {.: {}, f:name: {}, f:v: {}}}}}`),
				fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}, f:v: {}}}}}`),
			},
			`{l: [{name: b, v: "1"}, {name: a, v: "1"}]}`, `{l: [{name: a, v: "2"}, {name: b, v: "2"}, {name: c, v: "2"}]}`,
			[]string{`.spec.l`},
			`{l: [{name: a, v: "1"}]}`,
			[]string{`.spec.l`},
		},
		"list item with only a key, owned only by us": {
			[]string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}}}}}`)},
			`{l: [{name: a, v: "1"}]}`, `{l: [{name: a}]}`,
			[]string{`.spec.l[name="a"]`},
			`{l: [{name: a}]}`,
			[]string{`.spec.l[name="a"]`},
		},
		"key left to defaults (edge case 3)": {
			[]string{fieldstest.Entry("them", "Apply", `{f:spec: {f:p: {'k:{"port":53,"protocol":"TCP"}': {.: {}, f:port: {}, f:name: {}}}}}`)},
			`{p: [{port: 53, protocol: TCP, name: x}]}`, `{p: [{port: 53, name: z}, {port: 80}]}`,
			[]string{`.spec.p[port=53,protocol="TCP"].name`},
			`{p: [{port: 53}, {port: 80}]}`,
			[]string{`.spec.p[port=53,protocol="TCP"].name`},
		},
		"parent owned only by us (edge case 83)": {
			[]string{
				fieldstest.Entry("them", "Update", `{f:spec: {f:m: {f:image: {f:tag: {}}}}}`),
				fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:m: {f:image: {.: {}}, f:keep: {}}}}`),
			},
			`{m: {image: {tag: "2"}, keep: x}}`, `{m: {image: {tag: "1"}, keep: x}}`,
			[]string{".spec.m.image.tag"},
			`{m: {image: {}, keep: x}}`,
			[]string{".spec.m.image.tag"},
		},
		"parent owned only by us, without fields of others": {
			[]string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:a: {}, f:m: {f:image: {.: {}, f:old: {}}}}}`)},
			`{a: x, m: {image: {old: "1"}}}`, `{a: x, m: {image: {tag: "1"}}}`,
			[]string{".spec.m.image.tag"},
			`{a: x}`,
			[]string{".spec.m.image.tag"},
		},
		"item whose whole key has defaults (edge case 88)": {
			[]string{
				fieldstest.Entry("them", "Update", `{f:spec: {f:l: {'k:{"name":"a"}': {f:v: {}}}}}`),
				fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:l: {'k:{"name":"a"}': {.: {}}}}}`),
			},
			`{l: [{name: a, v: "1"}]}`, `{l: [{v: "2"}]}`,
			[]string{`.spec.l[name="a"].v`},
			`{l: [{name: a}]}`,
			[]string{`.spec.l[name="a"].v`},
		},
		"set item (edge case 2)": {
			[]string{fieldstest.Entry("them", "Update", `{f:spec: {f:l: {'v:"b"': {}}}}`)},
			`{l: [b]}`, `{l: [a, b]}`,
			[]string{`.spec.l[="b"]`},
			`{l: [a]}`,
			[]string{`.spec.l[="b"]`},
		},
		"name, kind and metadata stay": {
			[]string{fieldstest.Entry("them", "Update", `{f:spec: {f:a: {}}}`)},
			`{a: x}`, `{a: x}`,
			[]string{".metadata.name", ".kind", ".metadata"},
			`{a: x}`, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := ""
			for _, e := range tt.entries {
				text += "\n  - " + e
			}
			head := "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n"
			live := fieldstest.Read(t, head+"  managedFields:"+text+"\nspec: "+tt.live)
			manifest := fieldstest.Read(t, head+"spec: "+tt.manifest)
			before := manifest.DeepCopy()
			got, yielded, err := yield.Paths(manifest, live, fieldstest.Us, fieldstest.Paths(t, tt.yield...), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := fieldstest.Read(t, head+"spec: "+tt.want)
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var texts []string
			for _, p := range yielded {
				texts = append(texts, p.String())
			}
			if diff := cmp.Diff(tt.yielded, texts); diff != "" {
				t.Errorf("yielded (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, manifest.Object); diff != "" {
				t.Errorf("the manifest was changed:\n%s", diff)
			}
		})
	}
}

// Edge case 32: without a live object, the manifest provides the initial value.
func TestYieldCreation(t *testing.T) {
	manifest := fieldstest.Read(t, fieldstest.Web)
	got, yielded, err := yield.Paths(manifest, nil, fieldstest.Us, fieldstest.Paths(t, ".spec.replicas"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifest.Object, got.Object); diff != "" || len(yielded) > 0 {
		t.Errorf("yielded %v\n%s", yielded, diff)
	}
}

// An apply without the contested fields has no conflict.
func TestYieldAvoidsConflict(t *testing.T) {
	live := fieldstest.Read(t, fieldstest.WebLive)
	got, _, err := yield.Paths(fieldstest.Read(t, fieldstest.Web), live, fieldstest.Us, fieldstest.Paths(t, ".spec.replicas", fieldstest.App+".image"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if verdict, conflicts := noop.Evaluate(live, got, fieldstest.Us); verdict != noop.Unchanged {
		t.Errorf("got %v, %v, want settled", verdict, fieldstest.ConflictPaths(conflicts))
	}
}

// A key field stays in its list item. Without it, the item would be invalid, or would be a
// different item.
func TestYieldOfAKey(t *testing.T) {
	live := fieldstest.Read(t, "apiVersion: v1\nkind: Thing\nmetadata: {name: a}\nspec: {ports: [{port: 80, name: x}]}")
	for text, hint := range map[string]string{
		`.spec.ports[port=80].port`: `yield the whole item: .spec.ports[port=80]`,
		`.spec.ports[port=80].name`: "",
		`.spec.ports[port=80]`:      "",
		`.spec.ports[port=81].port`: "", // not in the manifest
	} {
		_, _, err := yield.Paths(live, live, fieldstest.Us, fieldstest.Paths(t, text), nil)
		var key *yield.KeyError
		if got := errors.As(err, &key); got != (hint != "") || got && key.Hint() != hint {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// Only the server's default distinguishes two items with the same port number.
func TestYieldOfItemsWithDefaults(t *testing.T) {
	const list = `
  - {port: 1, name: a}
  - {port: 1, name: b, protocol: UDP}`
	manifest := fieldstest.Read(t, "apiVersion: v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  ports:"+list)
	live := fieldstest.Read(t, `apiVersion: v1
kind: Thing
metadata:
  name: a
  managedFields:
  - `+fieldstest.Entry(fieldstest.Us, "Apply", `{f:spec: {f:ports: {'k:{"port":1,"protocol":"TCP"}': {.: {}, f:port: {}, f:name: {}}, 'k:{"port":1,"protocol":"UDP"}': {.: {}, f:port: {}, f:name: {}, f:protocol: {}}}}}`)+`
spec:
  ports:
  - {port: 1, name: a, protocol: TCP}
  - {port: 1, name: c, protocol: UDP}`)
	body, _, err := yield.Paths(manifest, live, fieldstest.Us, fieldstest.Paths(t, ".spec.ports"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := fieldstest.Read(t, "spec: {ports: [{port: 1, name: a}, {port: 1, name: c, protocol: UDP}]}").Object["spec"]
	if diff := cmp.Diff(want, body.Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Yielding .metadata yields the fields in it that can have owners.
func TestYieldMetadata(t *testing.T) {
	live := fieldstest.Read(t, `
apiVersion: v1
kind: Thing
metadata:
  name: a
  labels: {theirs: live, ours: live}
  managedFields:
  - `+fieldstest.Entry("them", "Update", "{f:metadata: {f:labels: {f:theirs: {}}}}"))
	manifest := fieldstest.Read(t, "apiVersion: v1\nkind: Thing\nmetadata: {name: a, namespace: b, labels: {theirs: x, ours: x}}")
	got, yielded, err := yield.Paths(manifest, live, fieldstest.Us, fieldstest.Paths(t, ".metadata"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := fieldstest.Read(t, "apiVersion: v1\nkind: Thing\nmetadata: {name: a, namespace: b, labels: {ours: live}}")
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(yielded) != 1 || yielded[0].String() != ".metadata.labels" {
		t.Errorf("yielded %v, want .metadata.labels", yielded)
	}
}
