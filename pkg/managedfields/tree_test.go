package managedfields

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

func treeOf(t *testing.T, text string) (fields, absent []Node) {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	entries, err := Entries(u)
	if err != nil {
		t.Fatal(err)
	}
	return Tree(object, entries)
}

// shown returns a tree as lines "path: owners". It omits fields that cannot have an owner.
func shown(nodes []Node) []string {
	var out []string
	Walk(nodes, func(n Node) {
		if !n.Ownable() || len(n.Owners) == 0 && len(n.Below) > 0 {
			return
		}
		line := n.Path.String() + ":"
		for _, o := range n.Owners {
			line += " " + o.Manager
		}
		if n.Absent {
			line += " (absent)"
		}
		out = append(out, line)
	})
	return out
}

func TestTree(t *testing.T) {
	tests := map[string]struct {
		object string
		want   []string
		absent []string
	}{
		"shared and unowned fields": {
			object: `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: u
  managedFields:
  - {manager: a, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: b, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}, "f:paused": {}}}}
status: {replicas: 1}
spec: {replicas: 1, paused: true, strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}`,
			want: []string{".spec.paused: b", ".spec.replicas: a b", ".spec.strategy:", ".status:"},
		},
		"items by two keys, one of them the server's default (edge case 3)": {
			object: `
metadata:
  managedFields:
  - manager: a
    operation: Apply
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:ports": {'k:{"port":53,"protocol":"TCP"}': {".": {}, "f:port": {}}, 'k:{"port":53,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}}}}}
spec: {ports: [{name: y, port: 53}, {port: 53, protocol: UDP, targetPort: 5}]}`,
			want: []string{
				`.spec.ports[port=53,protocol="TCP"]: a`,
				`.spec.ports[port=53,protocol="TCP"].port: a`,
				`.spec.ports[port=53,protocol="TCP"].name:`,
				`.spec.ports[port=53,protocol="UDP"]: a`,
				`.spec.ports[port=53,protocol="UDP"].port: a`,
				`.spec.ports[port=53,protocol="UDP"].protocol: a`,
				`.spec.ports[port=53,protocol="UDP"].targetPort:`,
			},
		},
		"set items, atomic values and an emptied parent": {
			object: `
metadata:
  finalizers: [x.example/a, x.example/b]
  managedFields:
  - {manager: a, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:finalizers": {".": {}, 'v:"x.example/a"': {}}, "f:labels": {}}, "f:spec": {"f:args": {}, "f:selector": {}}}}
  labels: {}
spec: {args: [x, y], selector: {app: web}}`,
			want: []string{
				".metadata.finalizers: a", `.metadata.finalizers[="x.example/a"]: a`, `.metadata.finalizers[="x.example/b"]:`,
				".metadata.labels: a", ".spec.args: a", ".spec.selector: a",
			},
		},
		"absent fields": {
			object: `
metadata:
  managedFields:
  - {manager: a, operation: Update, apiVersion: autoscaling/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:target": {".": {}, "f:cpu": {}}, "f:list": {'k:{"name":"gone"}': {".": {}, "f:image": {}}}}}}
spec: {list: [{name: here}], target: null}`,
			want: []string{`.spec.list[name="here"]:`, ".spec.target: a"},
			absent: []string{
				`.spec.list[name="gone"]: a (absent)`, `.spec.list[name="gone"].image: a (absent)`, ".spec.target.cpu: a (absent)",
			},
		},
		"no managed fields (edge case 17)": {
			object: "{metadata: {name: x, labels: {a: b}}, data: {a: b}}",
			want:   []string{".metadata.labels:", ".data:"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fields, absent := treeOf(t, test.object)
			if diff := cmp.Diff(test.want, shown(fields)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.absent, shown(absent)); diff != "" {
				t.Errorf("absent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAt(t *testing.T) {
	fields, _ := treeOf(t, `
metadata:
  managedFields:
  - manager: a
    operation: Apply
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:args": {}, "f:ports": {'k:{"port":53,"protocol":"UDP"}': {"f:port": {}}, 'k:{"port":80,"protocol":"TCP"}': {"f:port": {}}}}}
data: {"7": x}
spec: {args: [{x: 1}], ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}]}`)
	for text, want := range map[string]string{
		".spec":                                ".spec",
		".spec.args":                           ".spec.args",
		".spec.args[0].x":                      ".spec.args",
		`.spec.args[="x"]`:                     "",
		".spec.ports[1].port":                  `.spec.ports[port=53,protocol="UDP"].port`,
		".spec.ports[port=53]":                 `.spec.ports[port=53,protocol="UDP"]`,
		`.spec.ports[protocol="UDP",port=53]`:  `.spec.ports[port=53,protocol="UDP"]`,
		`.spec.ports[protocol="SCTP",port=53]`: "",
		".spec.ports[2]":                       "",
		".data[7]":                             ".data",
		".data[8]":                             "",
		".spec.nothing":                        "",
		".nothing.at.all":                      "",
		".metadata.managedFields":              "",
	} {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if n, ok := At(fields, p); ok {
			got = n.Path.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// held returns every path of the entries with its owners, in the same form as shown.
func held(entries []Entry) []string {
	owners := map[string][]Owner{}
	for _, e := range entries {
		for p := range e.Fields.All() {
			text := fieldpath.Path(p).String()
			owners[text] = append(owners[text], e.Owner)
		}
	}
	var out []string
	for text, of := range owners {
		slices.SortFunc(of, Owner.Compare)
		out = append(out, fmt.Sprint(text, of))
	}
	slices.Sort(out)
	return out
}

// FuzzTree checks that every path with an owner is in the tree exactly once, with exactly its
// owners, for any object.
func FuzzTree(f *testing.F) {
	f.Add(`{"spec":{"a":[{"name":"x","v":1}],"b":{}}}`,
		`{"f:spec":{"f:a":{"k:{\"name\":\"x\"}":{".":{},"f:v":{}}}}}`, `{"f:spec":{"f:a":{},"f:b":{".":{},"f:c":{}}}}`)
	f.Add(`{"metadata":{"finalizers":["x"]},"l":[1,null,{}]}`,
		`{"f:metadata":{"f:finalizers":{"v:\"x\"":{},"v:\"y\"":{}}}}`, `{"f:l":{"v:1":{},"i:2":{}}}`)
	f.Add(`{"a":[{"k":1},{"k":1},{"j":2}]}`, `{"f:a":{"k:{\"j\":1,\"k\":1}":{}}}`, `{"f:a":{"k:{\"k\":1}":{}}}`)
	f.Fuzz(func(t *testing.T, object, one, other string) {
		var m map[string]any
		if json.Unmarshal([]byte(object), &m) != nil || strings.Contains(object, "managedFields") {
			return
		}
		var entries []Entry
		for manager, text := range map[string]string{"one": one, "other": other} {
			var tree map[string]any
			if json.Unmarshal([]byte(text), &tree) != nil {
				return
			}
			set, err := fieldpath.FromTree(tree)
			if err != nil {
				return
			}
			entries = append(entries, Entry{Owner: Owner{Manager: manager, Operation: Apply}, Fields: set})
		}
		fields, absent := Tree(m, entries)
		owners := map[string][]Owner{}
		Walk(slices.Concat(fields, absent), func(n Node) {
			text := n.Path.String()
			if before, twice := owners[text]; twice && !slices.Equal(before, n.Owners) {
				t.Errorf("%s has owners %v, and %v", text, before, n.Owners)
			}
			if len(n.Owners) > 0 {
				owners[text] = n.Owners
			}
		})
		var got []string
		for text, of := range owners {
			got = append(got, fmt.Sprint(text, of))
		}
		slices.Sort(got)
		if diff := cmp.Diff(held(entries), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
