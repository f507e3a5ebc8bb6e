package noop_test

import (
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// A schema resolves doubts. TestManagedFields in test/e2e compares the verdicts with a server, for
// real manifests and random edits.
func TestSettledByTypes(t *testing.T) {
	const schema = `
id: io.k8s.api.test.v1.Thing
type: object
properties:
  spec:
    id: io.k8s.api.test.v1.ThingSpec
    type: object
    properties:
      selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
      free: {type: object, additionalProperties: {type: string}}
      open: {type: object}
      args: {type: array, items: {type: string}}
      set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      rules:
        type: array
        x-kubernetes-list-type: atomic
        items:
          type: object
          properties: {port: {type: integer}, weight: {type: integer, default: 1}, mode: {type: string}}
      cpu: {id: io.k8s.apimachinery.pkg.api.resource.Quantity}
      text: {type: string}
      flag: {type: boolean}
      allowPrivilegeEscalation: {type: boolean}
`
	for name, tt := range map[string]struct {
		declared, live, ours, others string
		want                         bool
	}{
		"an atomic map":                            {declared: "{selector: {a: b}}", live: "{selector: {a: b}}", ours: `"f:selector":{}`, want: true},
		"an atomic map that gained a key":          {declared: "{selector: {a: b}}", live: "{selector: {a: b, c: d}}", ours: `"f:selector":{}`},
		"an atomic map with fields of others":      {declared: "{selector: {a: b}}", live: "{selector: {a: b}}", ours: `"f:selector":{}`, others: `"f:selector":{"f:a":{}}`},
		"a granular map owned as a whole":          {declared: "{free: {a: b}}", live: "{free: {a: b}}", ours: `"f:free":{}`},
		"a granular map that was filled later":     {declared: "{free: {}}", live: "{free: {a: b}}", ours: `"f:free":{}`, want: true},
		"an undeclared map":                        {declared: "{open: {a: b}}", live: "{open: {a: b}}", ours: `"f:open":{}`},
		"a list that is atomic by default":         {declared: "{args: [a]}", live: "{args: [a]}", ours: `"f:args":{}`, want: true},
		"a set owned as a whole":                   {declared: "{set: [a]}", live: "{set: [a]}", ours: `"f:set":{}`},
		"an empty set with items of others":        {declared: "{set: [], text: t}", live: "{set: [a], text: t}", ours: `"f:text":{}`, want: true},
		"an empty set that is absent":              {declared: "{set: [], text: t}", live: "{text: t}", ours: `"f:text":{}`, want: true},
		"an atomic list with a default":            {declared: "{rules: [{port: 1}]}", live: "{rules: [{port: 1, weight: 1}]}", ours: `"f:rules":{}`, want: true},
		"an atomic list whose default was changed": {declared: "{rules: [{port: 1}]}", live: "{rules: [{port: 1, weight: 2}]}", ours: `"f:rules":{}`},
		"an atomic list whose default is not live": {declared: "{rules: [{port: 1}]}", live: "{rules: [{port: 1}]}", ours: `"f:rules":{}`, want: true},
		"an atomic list with an additional field":  {declared: "{rules: [{port: 1}]}", live: "{rules: [{port: 1, weight: 1, mode: x}]}", ours: `"f:rules":{}`},
		"an atomic list with another owner":        {declared: "{rules: [{port: 1}]}", live: "{rules: [{port: 1, weight: 1}]}", ours: `"f:rules":{}`, others: `"f:rules":{}`},
		"an atomic list with an additional item":   {declared: "{rules: [{port: 1}]}", live: "{rules: [{port: 1, weight: 1}, {port: 2, weight: 1}]}", ours: `"f:rules":{}`},
		"a number that is a quantity":              {declared: "{cpu: 1}", live: "{cpu: '1'}", ours: `"f:cpu":{}`, want: true},
		"a quantity in another spelling":           {declared: "{cpu: 1000m}", live: "{cpu: '1'}", ours: `"f:cpu":{}`, want: true},
		"a quantity with another owner":            {declared: "{cpu: 1000m}", live: "{cpu: '1'}", ours: `"f:cpu":{}`, others: `"f:cpu":{}`},
		"another quantity":                         {declared: "{cpu: 1001m}", live: "{cpu: '1'}", ours: `"f:cpu":{}`},
		"a string that looks like a quantity":      {declared: "{text: 1000m}", live: "{text: '1'}", ours: `"f:text":{}`},
		"an omitted zero":                          {declared: "{flag: false}", live: "{}", ours: `"f:flag":{}`, want: true},
		"a stored zero":                            {declared: "{allowPrivilegeEscalation: false}", live: "{}", ours: `"f:allowPrivilegeEscalation":{}`},
		"a zero of another type":                   {declared: "{flag: []}", live: "{}", ours: `"f:flag":{}`},
		"an empty list in place of a map":          {declared: "{free: []}", live: "{}", ours: `"f:free":{}`},
		"an empty map that is absent":              {declared: "{free: {}}", live: "{}", ours: `"f:free":{}`, want: true},
		"a zero that we did not apply before":      {declared: "{flag: false}", live: "{}"},
		"not zero":                                 {declared: "{flag: true}", live: "{}", ours: `"f:flag":{}`},
	} {
		t.Run(name, func(t *testing.T) {
			fields := `"f:metadata":{"f:labels":{"f:l":{}}}`
			if tt.ours != "" {
				fields += `,"f:spec":{` + tt.ours + `}`
			}
			entries := `[{manager: us, operation: Apply, apiVersion: test/v1, fieldsType: FieldsV1, fieldsV1: {` + fields + `}}`
			if tt.others != "" {
				entries += `,{manager: o, operation: Update, apiVersion: test/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec":{` + tt.others + `}}}`
			}
			const head = "apiVersion: test/v1\nkind: Thing\nmetadata:\n  name: x\n  labels: {l: l}\n"
			live := fieldstest.Read(t, head+"  managedFields: "+entries+"]\nspec: "+tt.live+"\n")
			manifest := fieldstest.Read(t, head+"spec: "+tt.declared+"\n")
			var s spec.Schema
			if err := yaml.Unmarshal([]byte(schema), &s); err != nil {
				t.Fatal(err)
			}
			if got := noop.BySchema(live, manifest, "us", func() openapi.Type { return published.Of(&s) }); got != tt.want {
				t.Errorf("settled %v, want %v", got, tt.want)
			}
		})
	}
}

// The claim templates of a StatefulSet are one atomic value, to which the server adds the defaults
// of a new claim. If anything else is added, the value has changed.
func TestSettledClaimTemplates(t *testing.T) {
	const (
		schema = `
id: io.k8s.api.apps.v1.StatefulSet
type: object
properties:
  spec:
    id: io.k8s.api.apps.v1.StatefulSetSpec
    type: object
    properties:
      volumeClaimTemplates:
        type: array
        x-kubernetes-list-type: atomic
        items:
          id: io.k8s.api.core.v1.PersistentVolumeClaim
          type: object
          properties:
            apiVersion: {type: string}
            kind: {type: string}
            metadata: {type: object, properties: {name: {type: string}}}
            spec:
              id: io.k8s.api.core.v1.PersistentVolumeClaimSpec
              type: object
              properties: {volumeMode: {type: string}, storageClassName: {type: string}, accessModes: {type: array, items: {type: string}}}
            status: {type: object, properties: {phase: {type: string}}}
`
		declared = "{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}"
		new      = "apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, status: {phase: Pending}"
		head     = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: x\n"
		fields   = `  managedFields: [{manager: us, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec":{"f:volumeClaimTemplates":{}}}}]` + "\n"
	)
	for live, want := range map[string]bool{
		"{" + new + ", spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem}}":                         true,
		"{" + new + ", spec: {accessModes: [ReadWriteOnce], volumeMode: Block}}":                              false,
		"{" + new + ", spec: {accessModes: [ReadWriteMany], volumeMode: Filesystem}}":                         false,
		"{" + new + ", spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, storageClassName: fast}}": false,
		strings.Replace("{"+new+", spec: {accessModes: [ReadWriteOnce]}}", "Pending", "Bound", 1):             false,
	} {
		var s spec.Schema
		if err := yaml.Unmarshal([]byte(schema), &s); err != nil {
			t.Fatal(err)
		}
		there := fieldstest.Read(t, head+fields+"spec: {volumeClaimTemplates: ["+live+"]}\n")
		manifest := fieldstest.Read(t, head+"spec: {volumeClaimTemplates: ["+declared+"]}\n")
		if got := noop.BySchema(there, manifest, "us", func() openapi.Type { return published.Of(&s) }); got != want {
			t.Errorf("settled %v, want %v: %s", got, want, live)
		}
	}
}

// Lists in fields that a schema preserves without describing them, such as a chart's values, are
// atomic.
func TestSettledInUnknownParts(t *testing.T) {
	const schema = `
type: object
properties:
  spec:
    type: object
    properties:
      open: {type: object}
      any: {x-kubernetes-preserve-unknown-fields: true}
      some: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {set: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}
`
	for name, tt := range map[string]struct {
		declared, live, ours, others string
		want                         bool
	}{
		"a list":                         {declared: "{any: {a: {l: [a]}}}", live: "{any: {a: {l: [a]}}}", ours: `"f:any":{"f:a":{"f:l":{}}}`, want: true},
		"a list that changed":            {declared: "{any: {a: {l: [a]}}}", live: "{any: {a: {l: [a, b]}}}", ours: `"f:any":{"f:a":{"f:l":{}}}`},
		"a list with items of others":    {declared: "{any: {l: [a]}}", live: "{any: {l: [a]}}", ours: `"f:any":{"f:l":{}}`, others: `"f:any":{"f:l":{"v:\"a\"":{}}}`},
		"a list next to declared fields": {declared: "{some: {l: [a]}}", live: "{some: {l: [a]}}", ours: `"f:some":{"f:l":{}}`, want: true},
		"a declared set":                 {declared: "{some: {set: [a]}}", live: "{some: {set: [a]}}", ours: `"f:some":{"f:set":{}}`},
		"a map owned as a whole":         {declared: "{any: {a: {b: c}}}", live: "{any: {a: {b: c}}}", ours: `"f:any":{"f:a":{}}`},
		"a list in a field that does not preserve unknown fields": {declared: "{open: {l: [a]}}", live: "{open: {l: [a]}}", ours: `"f:open":{"f:l":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			entries := `[{manager: us, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec":{` + tt.ours + `}}}`
			if tt.others != "" {
				entries += `,{manager: o, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec":{` + tt.others + `}}}`
			}
			const head = "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: x\n"
			live := fieldstest.Read(t, head+"  managedFields: "+entries+"]\nspec: "+tt.live+"\n")
			manifest := fieldstest.Read(t, head+"spec: "+tt.declared+"\n")
			var s spec.Schema
			if err := yaml.Unmarshal([]byte(schema), &s); err != nil {
				t.Fatal(err)
			}
			if got := noop.BySchema(live, manifest, "us", func() openapi.Type { return published.Of(&s) }); got != tt.want {
				t.Errorf("settled %v, want %v", got, tt.want)
			}
		})
	}
}
