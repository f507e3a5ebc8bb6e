package managedfields_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func TestProject(t *testing.T) {
	tests := map[string]struct {
		object string
		set    []string
		want   string
	}{
		"scalars": {
			`{spec: {a: 1, b: 2}, data: {c: 3}}`,
			[]string{".spec.a"},
			`{spec: {a: 1}}`,
		},
		"dotted keys (edge case 1)": {
			`{data: {app.conf: x, app: {conf: no}}}`,
			[]string{`.data["app.conf"]`},
			`{data: {app.conf: x}}`,
		},
		"set items (edge case 2)": {
			`{finalizers: [theirs, ours]}`,
			[]string{`.finalizers[="ours"]`},
			`{finalizers: [ours]}`,
		},
		"numbers in a set": {
			`{ports: [80, 443]}`,
			[]string{`.ports[=443]`},
			`{ports: [443]}`,
		},
		"keyed list keeps the key and the object's order (edge case 4)": {
			`{list: [{name: x, image: i}, {name: b, image: j, v: 1}, {name: a, image: k}]}`,
			[]string{`.list[name="a"].image`, `.list[name="b"]`, `.list[name="b"].v`},
			`{list: [{name: b, v: 1}, {name: a, image: k}]}`,
		},
		"key of several fields": {
			`{ports: [{port: 53, protocol: TCP, x: 1}, {port: 53, protocol: UDP, x: 2}]}`,
			[]string{`.ports[port=53,protocol="UDP"].x`},
			`{ports: [{port: 53, protocol: UDP, x: 2}]}`,
		},
		"defaulted key in a manifest (edge case 3)": {
			`{ports: [{port: 53, x: 1}, {port: 53, protocol: UDP, x: 2}]}`,
			[]string{`.ports[port=53,protocol="TCP"].x`, `.ports[port=53,protocol="UDP"].x`},
			`{ports: [{port: 53, x: 1}, {port: 53, protocol: UDP, x: 2}]}`,
		},
		"ambiguous defaulted key": {
			`{ports: [{port: 53, x: 1}]}`,
			[]string{`.ports[port=53,protocol="TCP"].x`, `.ports[port=53,protocol="UDP"].x`},
			`{}`,
		},
		"key without default": {
			`{ports: [{port: 53, x: 1}, {port: 53, protocol: UDP, x: 2}]}`,
			[]string{`.ports[port=53].x`, `.ports[port=53,protocol="UDP"].x`},
			`{ports: [{port: 53, x: 1}, {port: 53, protocol: UDP, x: 2}]}`,
		},
		"atomic values whole (edge case 5)": {
			`{selector: {a: 1, b: {c: 2}}, args: [x, z]}`,
			[]string{`.selector`, `.args`},
			`{selector: {a: 1, b: {c: 2}}, args: [x, z]}`,
		},
		"empty parent (edge case 13)": {
			`{labels: {}, other: {}}`,
			[]string{`.labels`},
			`{labels: {}}`,
		},
		"owned map without owned fields that exist": {
			`{labels: {theirs: x}}`,
			[]string{`.labels`, `.labels.ours`},
			`{labels: {}}`,
		},
		"map that is not owned, without owned fields that exist": {
			`{labels: {theirs: x}}`,
			[]string{`.labels.ours`},
			`{}`,
		},
		"null and absent (edge case 16)": {
			`{a: null, c: {d: null}}`,
			[]string{`.a`, `.b`, `.c.d`},
			`{a: null, c: {d: null}}`,
		},
		"scalar where the set has fields": {
			`{a: text, b: text}`,
			[]string{`.a.x`, `.b`, `.b.x`},
			`{b: text}`,
		},
		"list by position is kept whole": {
			`{a: [1, 2, 3]}`,
			[]string{`.a[1]`},
			`{a: [1, 2, 3]}`,
		},
		"two items of one key": {
			`{env: [{name: A, value: 1}, {name: A, value: 2}]}`,
			[]string{`.env[name="A"]`},
			`{env: [{name: A, value: 1}, {name: A, value: 2}]}`,
		},
		"nothing in the set": {`{a: 1}`, nil, `{}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			held := fieldstest.Set(t, tt.set...)
			got := managedfields.Project(fieldstest.Content(t, tt.object), held)
			if diff := cmp.Diff(fieldstest.Content(t, tt.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, managedfields.Project(got, held)); diff != "" {
				t.Errorf("projecting twice has another result:\n%s", diff)
			}
		})
	}
}

// A projection never contains fields of other owners, and is the same if a sidecar is injected
// before other items (edge cases 2, 4).
func TestProjectOmitsFieldsOfOthers(t *testing.T) {
	live := fieldstest.Read(t, fieldstest.WebLive)
	got := managedfields.Project(live.Object, managedfields.Managed(fieldstest.Entries(t, live), fieldstest.Us))
	want := fieldstest.Content(t, `
metadata: {labels: {app.kubernetes.io/name: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        args: [--verbose]
        ports: [{containerPort: 8080, protocol: TCP}]
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProjectDoesNotChangeTheObject(t *testing.T) {
	live := fieldstest.Read(t, fieldstest.WebLive)
	before := live.DeepCopy()
	managedfields.Project(live.Object, managedfields.Managed(fieldstest.Entries(t, live), fieldstest.Us))
	if diff := cmp.Diff(before.Object, live.Object); diff != "" {
		t.Error(diff)
	}
}
