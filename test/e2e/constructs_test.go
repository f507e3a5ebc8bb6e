package e2e_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// construct is an object of a kind whose schema has every construct, and what a webhook does to a field of
// its spec.
type construct struct {
	spec string
	// field is the changed field, with slashes. The webhook sets it to value, or removes it if value is empty.
	field, value string
	// want are the values that a run reports as stored otherwise.
	want []string
	// spelled is the value that a run reports only if dry runs do not show it.
	spelled string
}

const removes = "" // the webhook removes the field

func constructs() map[string]construct {
	gone := func(path, value string) string {
		return path + " is not stored, although your manifest has " + value + ": the API server or something in the cluster removes it"
	}
	is := func(path, value, not string) string {
		return path + " is " + value + ", not " + not + ": something in the cluster rewrites it"
	}
	one := func(text string) []string { return []string{text} }
	return map[string]construct{
		"text-changed":          {`{text: a}`, "text", `"b"`, one(is(".spec.text", `"b"`, `"a"`)), ""},
		"text-like-a-quantity":  {`{text: "1.10"}`, "text", `"1.1"`, one(is(".spec.text", `"1.1"`, `"1.10"`)), ""},
		"text-like-a-duration":  {`{text: 60s}`, "text", `"1m0s"`, one(is(".spec.text", `"1m0s"`, `"60s"`)), ""},
		"text-like-base64":      {`{text: "abcd\n"}`, "text", `"abcd"`, one(is(".spec.text", `"abcd"`, `"abcd\n"`)), ""},
		"text-removed":          {`{text: a, number: 1}`, "text", removes, one(gone(".spec.text", `"a"`)), ""},
		"text-empty-removed":    {`{text: "", number: 1}`, "text", removes, one(gone(".spec.text", `""`)), ""},
		"text-empty-changed":    {`{text: ""}`, "text", `"b"`, one(is(".spec.text", `"b"`, `""`)), ""},
		"text-as-stored":        {`{text: a}`, "text", `"a"`, nil, ""},
		"number-changed":        {`{number: 1}`, "number", `2`, one(is(".spec.number", "2", "1")), ""},
		"number-zero-changed":   {`{number: 0}`, "number", `2`, one(is(".spec.number", "2", "0")), ""},
		"number-zero-removed":   {`{number: 0, text: a}`, "number", removes, one(gone(".spec.number", "0")), ""},
		"flag-false-changed":    {`{flag: false}`, "flag", `true`, one(is(".spec.flag", "true", "false")), ""},
		"number-added":          {`{text: a}`, "number", `1`, nil, ""},
		"time-changed":          {`{when: "2026-01-01T01:00:00+01:00"}`, "when", `"2026-01-01T00:00:00Z"`, one(is(".spec.when", `"2026-01-01T00:00:00Z"`, `"2026-01-01T01:00:00+01:00"`)), ""},
		"default-left-out":      {`{text: a}`, "", "", nil, ""},
		"default-as-null":       {`{withDefault: null, text: a}`, "", "", nil, ""},
		"list-default-as-null":  {`{listWithDefault: null, mapWithDefault: null, text: a}`, "", "", nil, ""},
		"default-other":         {`{text: a}`, "withDefault", `"z"`, nil, ""},
		"default-changed":       {`{withDefault: a}`, "withDefault", `"z"`, one(is(".spec.withDefault", `"z"`, `"a"`)), ""},
		"default-removed":       {`{withDefault: z, text: a}`, "withDefault", removes, one(is(".spec.withDefault", `"a"`, `"z"`)), ""},
		"nullable-null":         {`{nullable: null, text: a}`, "", "", nil, ""},
		"nullable-changed":      {`{nullable: null, text: a}`, "nullable", `"b"`, one(is(".spec.nullable", `"b"`, "null")), ""},
		"nullable-to-null":      {`{nullable: b}`, "nullable", `null`, one(is(".spec.nullable", "null", `"b"`)), ""},
		"either-type-changed":   {`{port: 5}`, "port", `"5"`, one(is(".spec.port", `"5"`, "5")), ""},
		"either-to-number":      {`{port: "5"}`, "port", `5`, one(is(".spec.port", "5", `"5"`)), ""},
		"either-changed":        {`{port: 5}`, "port", `6`, one(is(".spec.port", "6", "5")), ""},
		"quantity-respelt":      {`{quantity: 1024Mi}`, "quantity", `"1Gi"`, nil, is(".spec.quantity", `"1Gi"`, `"1024Mi"`)},
		"quantity-to-text":      {`{quantity: 1}`, "quantity", `"1"`, nil, is(".spec.quantity", `"1"`, "1")},
		"quantity-changed":      {`{quantity: 1}`, "quantity", `"2"`, one(is(".spec.quantity", `"2"`, "1")), ""},
		"set-item-changed":      {`{set: [a, b]}`, "set", `["a", "c"]`, one(gone(`.spec.set[="b"]`, `"b"`)), ""},
		"set-item-removed":      {`{set: [a, b]}`, "set", `["a"]`, one(gone(`.spec.set[="b"]`, `"b"`)), ""},
		"set-emptied":           {`{set: [a]}`, "set", `[]`, one(gone(`.spec.set[="a"]`, `"a"`)), ""},
		"set-removed":           {`{set: [a], text: a}`, "set", removes, one(gone(".spec.set", `["a"]`)), ""},
		"set-item-added":        {`{set: [a]}`, "set", `["a", "b"]`, nil, ""},
		"set-item-moved":        {`{set: [a, b]}`, "set", `["b", "a"]`, nil, is(".spec.set", `["b","a"]`, `["a","b"]`)},
		"numbers-item-removed":  {`{numbers: [0, 1]}`, "numbers", `[1]`, one(gone(".spec.numbers[=0]", "0")), ""},
		"keyed-field-changed":   {`{ports: [{port: 1, note: a}]}`, "ports", `[{"port": 1, "protocol": "TCP", "note": "b"}]`, one(is(`.spec.ports[port=1,protocol="TCP"].note`, `"b"`, `"a"`)), ""},
		"keyed-field-removed":   {`{ports: [{port: 1, note: a}]}`, "ports", `[{"port": 1, "protocol": "TCP"}]`, one(gone(`.spec.ports[port=1,protocol="TCP"].note`, `"a"`)), ""},
		"keyed-item-removed":    {`{ports: [{port: 1}, {port: 2}]}`, "ports", `[{"port": 1, "protocol": "TCP"}]`, one(gone(`.spec.ports[port=2,protocol="TCP"]`, `{"port":2}`)), ""},
		"keyed-key-changed":     {`{ports: [{port: 1}]}`, "ports", `[{"port": 1, "protocol": "UDP"}]`, one(gone(`.spec.ports[port=1,protocol="TCP"]`, `{"port":1}`)), ""},
		"keyed-item-added":      {`{ports: [{port: 1}]}`, "ports", `[{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "TCP"}]`, nil, ""},
		"keyed-item-moved":      {`{ports: [{port: 1}, {port: 2}]}`, "ports", `[{"port": 2, "protocol": "TCP"}, {"port": 1, "protocol": "TCP"}]`, nil, is(".spec.ports", `[{"port":2,"protocol":"TCP"},{"port":1,"protocol":"TCP"}]`, `[{"port":1,"protocol":"TCP"},{"port":2,"protocol":"TCP"}]`)},
		"keyed-as-null":         {`{ports: [{port: 1, protocol: null}]}`, "", "", nil, ""},
		"named-item-removed":    {`{named: [{name: a, value: x}, {name: b}]}`, "named", `[{"name": "b"}]`, one(gone(`.spec.named[name="a"]`, `{"name":"a","value":"x"}`)), ""},
		"named-field-removed":   {`{named: [{name: a, value: x}]}`, "named", `[{"name": "a"}]`, one(gone(`.spec.named[name="a"].value`, `"x"`)), ""},
		"atomic-item-changed":   {`{list: [a, b]}`, "list", `["a", "c"]`, one(is(".spec.list", `["a","c"]`, `["a","b"]`)), ""},
		"atomic-item-removed":   {`{list: [a, b]}`, "list", `["a"]`, one(is(".spec.list", `["a"]`, `["a","b"]`)), ""},
		"atomic-item-added":     {`{list: [a]}`, "list", `["a", "b"]`, one(is(".spec.list", `["a","b"]`, `["a"]`)), ""},
		"atomic-item-moved":     {`{list: [a, b]}`, "list", `["b", "a"]`, one(is(".spec.list", `["b","a"]`, `["a","b"]`)), ""},
		"atomic-emptied":        {`{list: [a]}`, "list", `[]`, one(is(".spec.list", `[]`, `["a"]`)), ""},
		"atomic-filled":         {`{list: []}`, "list", `["a"]`, one(is(".spec.list", `["a"]`, `[]`)), ""},
		"atomic-removed":        {`{list: [a], text: a}`, "list", removes, one(gone(".spec.list", `["a"]`)), ""},
		"items-default":         {`{items: [{name: a}]}`, "", "", nil, ""},
		"items-field-changed":   {`{items: [{name: a, mode: B}]}`, "items", `[{"name": "a", "mode": "C"}]`, one(is(".spec.items", `[{"mode":"C","name":"a"}]`, `[{"mode":"B","name":"a"}]`)), ""},
		"items-default-changed": {`{items: [{name: a}]}`, "items", `[{"name": "a", "mode": "C"}]`, one(is(".spec.items", `[{"mode":"C","name":"a"}]`, `[{"name":"a"}]`)), ""},
		"items-field-removed":   {`{items: [{name: a, note: x}]}`, "items", `[{"name": "a", "mode": "A"}]`, one(is(".spec.items", `[{"mode":"A","name":"a"}]`, `[{"name":"a","note":"x"}]`)), ""},
		"items-field-added":     {`{items: [{name: a}]}`, "items", `[{"name": "a", "mode": "A", "note": "x"}]`, one(is(".spec.items", `[{"mode":"A","name":"a","note":"x"}]`, `[{"name":"a"}]`)), ""},
		"map-value-changed":     {`{labels: {a: b}}`, "labels", `{"a": "c"}`, one(is(".spec.labels.a", `"c"`, `"b"`)), ""},
		"map-key-removed":       {`{labels: {a: b, c: d}}`, "labels", `{"c": "d"}`, one(gone(".spec.labels.a", `"b"`)), ""},
		"map-key-added":         {`{labels: {a: b}}`, "labels", `{"a": "b", "c": "d"}`, nil, ""},
		"map-filled":            {`{labels: {}}`, "labels", `{"c": "d"}`, nil, ""},
		"map-removed":           {`{labels: {a: b}, text: a}`, "labels", removes, one(gone(".spec.labels.a", `"b"`)), ""},
		"atomic-map-changed":    {`{ref: {name: a}}`, "ref", `{"name": "b", "kind": "K"}`, one(is(".spec.ref", `{"kind":"K","name":"b"}`, `{"name":"a"}`)), ""},
		"atomic-map-default":    {`{ref: {name: a}}`, "", "", nil, ""},
		"atomic-map-added":      {`{ref: {name: a}}`, "ref", `{"name": "a", "kind": "K", "namespace": "n"}`, one(is(".spec.ref", `{"kind":"K","name":"a","namespace":"n"}`, `{"name":"a"}`)), ""},
		"atomic-map-removed":    {`{ref: {name: a, namespace: x}}`, "ref", `{"name": "a", "kind": "K"}`, one(is(".spec.ref", `{"kind":"K","name":"a"}`, `{"name":"a","namespace":"x"}`)), ""},
		"free-changed":          {`{free: {a: {b: c}}}`, "free", `{"a": {"b": "d"}}`, one(is(".spec.free.a.b", `"d"`, `"c"`)), ""},
		"free-removed":          {`{free: {a: {b: c}, d: e}}`, "free", `{"d": "e"}`, one(gone(".spec.free.a.b", `"c"`)), ""},
		"free-added":            {`{free: {a: b}}`, "free", `{"a": "b", "c": "d"}`, nil, ""},
		"free-map-to-text":      {`{free: {a: {b: c}}}`, "free", `{"a": "x"}`, one(is(".spec.free.a", `"x"`, `{"b":"c"}`)), ""},
		"free-text-to-map":      {`{free: {a: x}}`, "free", `{"a": {"b": "c"}}`, one(is(".spec.free.a", `{"b":"c"}`, `"x"`)), ""},
		"free-list-to-map":      {`{free: {a: [x]}}`, "free", `{"a": {"b": "c"}}`, one(is(".spec.free.a", `{"b":"c"}`, `["x"]`)), ""},
		"free-text-to-number":   {`{free: {a: "5"}}`, "free", `{"a": 5}`, one(is(".spec.free.a", `5`, `"5"`)), ""},
		"free-list-added":       {`{free: {a: [x]}}`, "free", `{"a": ["x", "y"]}`, one(is(".spec.free.a", `["x","y"]`, `["x"]`)), ""},
		"free-list-moved":       {`{free: {a: [x, z]}}`, "free", `{"a": ["z", "x"]}`, one(is(".spec.free.a", `["z","x"]`, `["x","z"]`)), ""},
		"anything-type":         {`{anything: "5"}`, "anything", `5`, one(is(".spec.anything", `5`, `"5"`)), ""},
		"embedded-changed":      {`{template: {apiVersion: v1, kind: A, metadata: {name: a, labels: {a: b}}, spec: {a: 1}}}`, "template", `{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {"a": "1"}}`, one(is(".spec.template.spec.a", `"1"`, "1")), ""},
		"embedded-label":        {`{template: {apiVersion: v1, kind: A, metadata: {name: a, labels: {a: b}}}}`, "template", `{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "labels": {"a": "c"}}}`, one(is(".spec.template.metadata.labels.a", `"c"`, `"b"`)), ""},
		"embedded-metadata":     {`{template: {apiVersion: v1, kind: A, metadata: {name: a, creationTimestamp: null, labels: {}}}}`, "", "", nil, ""},
		"several":               {`{set: [a, b], port: 5, list: [x]}`, "set", `["a"]`, one(gone(`.spec.set[="b"]`, `"b"`)), ""},
	}
}

// builtins are the same for Deployments, of which the API server decodes the values and sets defaults.
func builtins() map[string]construct {
	const spec = `{selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {%scontainers: [{name: app, image: "a:1"%s}]}}}`
	of := func(container string) string { return fmt.Sprintf(spec, "", container) }
	pod := func(pod string) string { return fmt.Sprintf(spec, pod+", ", "") }
	const container, tolerations = "template/spec/containers/0", "template/spec/tolerations"
	const path = `.spec.template.spec.containers[name="app"]`
	one := func(text string) []string { return []string{text} }
	const removed, rewritten = ": the API server or something in the cluster removes it", ": something in the cluster rewrites it"
	return map[string]construct{
		"image-changed":     {of(""), container + "/image", `"mirror/a:1"`, one(path + `.image is "mirror/a:1", not "a:1"` + rewritten), ""},
		"args-item-added":   {of(", args: [a]"), container + "/args", `["a", "b"]`, one(path + `.args is ["a","b"], not ["a"]` + rewritten), ""},
		"args-item-removed": {of(", args: [a, b]"), container + "/args", `["a"]`, one(path + `.args is ["a"], not ["a","b"]` + rewritten), ""},
		"env-removed":       {of(", env: [{name: A, value: x}, {name: B, value: z}]"), container + "/env", `[{"name": "B", "value": "z"}]`, one(path + `.env[name="A"] is not stored, although your manifest has {"name":"A","value":"x"}` + removed), ""},
		"env-added":         {of(", env: [{name: A, value: x}]"), container + "/env", `[{"name": "A", "value": "x"}, {"name": "B", "value": "y"}]`, nil, ""},
		"port-removed":      {of(", ports: [{containerPort: 1}, {containerPort: 2}]"), container + "/ports", `[{"containerPort": 1, "protocol": "TCP"}]`, one(path + `.ports[containerPort=2,protocol="TCP"] is not stored, although your manifest has {"containerPort":2}` + removed), ""},
		"quantity":          {of(`, resources: {limits: {cpu: 1, memory: 1024Mi}}`), "", "", nil, ""},
		"quantity-changed":  {of(`, resources: {limits: {cpu: 1}}`), container + "/resources/limits/cpu", `"2"`, one(path + `.resources.limits.cpu is "2", not 1` + rewritten), ""},
		"toleration-cut":    {pod("tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]"), tolerations, `[{"key": "a", "operator": "Exists", "effect": "NoExecute"}]`, one(`.spec.template.spec.tolerations[0].tolerationSeconds is not stored, although your manifest has 5` + removed), ""},
		"toleration-zero":   {pod(`tolerations: [{key: a, operator: Exists, value: ""}]`), "", "", nil, ""},
		"probe-default":     {of(", readinessProbe: {httpGet: {port: 80, path: ''}, initialDelaySeconds: 0}"), "", "", nil, ""},
		"like-a-quantity":   {strings.Replace(of(""), "metadata: {", `metadata: {annotations: {v: "1.10"}, `, 1), "template/metadata/annotations/v", `"1.1"`, one(`.spec.template.metadata.annotations.v is "1.1", not "1.10"` + rewritten), ""},
	}
}

const constructDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: constructs.NS.example}
spec:
  group: NS.example
  scope: Namespaced
  names: {kind: Construct, plural: constructs, singular: construct, listKind: ConstructList}
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
              text: {type: string}
              number: {type: integer}
              flag: {type: boolean}
              when: {type: string, format: date-time}
              withDefault: {type: string, default: a}
              listWithDefault: {type: array, default: [a], items: {type: string}}
              mapWithDefault: {type: object, default: {a: b}, additionalProperties: {type: string}}
              nullable: {type: string, nullable: true}
              port: {x-kubernetes-int-or-string: true}
              quantity:
                anyOf: [{type: integer}, {type: string}]
                pattern: ^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$
                x-kubernetes-int-or-string: true
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              numbers: {type: array, x-kubernetes-list-type: set, items: {type: integer}}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items: {type: object, required: [port], properties: {port: {type: integer}, protocol: {type: string, default: TCP}, note: {type: string}}}
              named:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, value: {type: string}}}
              list: {type: array, items: {type: string}}
              items: {type: array, items: {type: object, properties: {name: {type: string}, mode: {type: string, default: A}, note: {type: string}}}}
              labels: {type: object, additionalProperties: {type: string}}
              ref: {type: object, x-kubernetes-map-type: atomic, properties: {name: {type: string}, kind: {type: string, default: K}, namespace: {type: string}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              anything: {x-kubernetes-preserve-unknown-fields: true}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
`

// patchAnnotation contains the JSON patch by which the webhook changes the object. sparesDryRuns is its value
// in objects that the webhook does not change in dry runs.
const patchAnnotation, sparesDryRuns = "test.example/patch", "test.example/spares-dry-runs"

// patcher starts a webhook that changes each object as its annotation says.
func patcher(t *testing.T) *httptest.Server {
	s := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		var review struct {
			Request struct {
				UID    string
				DryRun bool
				Object struct {
					Metadata struct{ Annotations map[string]string }
				}
			}
		}
		if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		answer := map[string]any{"uid": review.Request.UID, "allowed": true}
		notes := review.Request.Object.Metadata.Annotations
		if _, spares := notes[sparesDryRuns]; notes[patchAnnotation] != "" && (!spares || !review.Request.DryRun) {
			answer["patchType"], answer["patch"] = "JSONPatch", []byte(notes[patchAnnotation])
		}
		_ = json.NewEncoder(out).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})
	}))
	t.Cleanup(s.Close)
	return s
}

func registerPatcher(t *testing.T, c *cluster.Cluster, s *httptest.Server, ns string) {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	config, err := json.Marshal(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": ns},
		"webhooks": []any{map[string]any{
			"name": "patch.example.com", "clientConfig": map[string]any{"url": s.URL, "caBundle": ca}, "sideEffects": "None",
			"admissionReviewVersions": []any{"v1"},
			"rules": []any{map[string]any{
				"apiGroups": []any{ns + ".example", "apps"}, "apiVersions": []any{"v1"}, "resources": []any{"*"}, "operations": []any{"CREATE", "UPDATE"},
			}},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": ns}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, string(config)))
	t.Cleanup(func() { _ = e2etest.KubectlCommand(t, c, "delete", "mutatingwebhookconfiguration", ns).Run() })
}

// warningsOf returns the warnings of a run by object.
func warningsOf(t *testing.T, r *e2etest.Run) map[string][]string {
	t.Helper()
	var report struct {
		Objects []struct {
			Name     string
			Warnings []string
		}
	}
	if err := json.Unmarshal(r.Stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	out := map[string][]string{}
	for _, o := range report.Objects {
		out[o.Name] = nil
		for _, w := range o.Warnings {
			_, text, _ := strings.Cut(w, ": ") // behind the object's name
			out[o.Name] = append(out[o.Name], text)
		}
	}
	return out
}

// Edge case 15: for every construct of a schema, each run says which values of the manifest a webhook
// rewrites or removes, and is silent about the defaults of the schema and about the values of others. It also
// does if the webhook does not act in dry runs.
func TestRewritingOfEachConstruct(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	crd := e2etest.File(t, strings.ReplaceAll(constructDefinition, "NS", ns))
	e2etest.Kubectl(t, c, "apply", "-f", crd)
	t.Cleanup(func() { _ = e2etest.KubectlCommand(t, c, "delete", "-f", crd, "--wait=false").Run() })
	e2etest.Kubectl(t, c, "wait", "--for=condition=Established", "-f", crd)
	registerPatcher(t, c, patcher(t), ns)
	object := func(name string, row construct, notes string) string {
		head := "apiVersion: " + ns + ".example/v1\nkind: Construct"
		if strings.Contains(row.spec, "containers:") {
			head = "apiVersion: apps/v1\nkind: Deployment"
		}
		patch := ""
		switch {
		case row.field == "":
		case row.value == removes:
			patch = fmt.Sprintf(`[{"op": "remove", "path": "/spec/%s"}]`, row.field)
		default:
			patch = fmt.Sprintf(`[{"op": "add", "path": "/spec/%s", "value": %s}]`, row.field, row.value)
		}
		return fmt.Sprintf("%s\nmetadata: {name: %s, namespace: %s, annotations: {%s: '%s'%s}}\nspec: %s\n---\n",
			head, name, ns, patchAnnotation, patch, notes, row.spec)
	}
	probe := e2etest.File(t, object("probe", construct{spec: "{text: a}", field: "text", value: `"b"`}, ""))
	e2etest.Until(t, "the API server calls the webhook", func() bool {
		out, err := e2etest.KubectlCommand(t, c, "create", "-f", probe, "--dry-run=server", "-o", "jsonpath={.spec.text}").Output()
		return err == nil && string(out) == "b"
	})
	for notes, inEarnest := range map[string]bool{"": false, ", " + sparesDryRuns + ": anything": true} {
		t.Run(fmt.Sprintf("in earnest only: %v", inEarnest), func(t *testing.T) {
			var set bytes.Buffer
			want, quiet, spelled := map[string][]string{}, map[string][]string{}, map[string]string{}
			all := constructs()
			maps.Copy(all, builtins())
			for name, row := range all {
				if inEarnest {
					name += "-earnest"
				}
				set.WriteString(object(name, row, notes))
				want[name], quiet[name], spelled[name] = row.want, nil, row.spelled
			}
			file := e2etest.File(t, set.String())
			run := func(verb string, want map[string][]string, args ...string) {
				t.Helper()
				r := e2etest.Plugin(t, c.KubeconfigPath, append([]string{verb, "-f", file, "-o", "json"}, args...)...)
				if diff := cmp.Diff(want, warningsOf(t, r)); diff != "" {
					t.Errorf("%s %v: warnings (-want +got):\n%s\n%s", verb, args, diff, r.Stderr.String())
				}
			}
			if !inEarnest {
				run("diff", want)
				run("apply", want)
				run("diff", want)
				run("apply", want)
				run("apply", want, "--dry-run=server")
				return
			}
			run("diff", quiet)
			run("apply", want)
			run("diff", quiet)
			for name, lines := range want {
				want[name] = nil
				if spelled[name] != "" {
					lines = []string{spelled[name]}
				}
				for _, line := range lines {
					want[name] = append(want[name], line+", but not in dry runs")
				}
			}
			run("apply", want)
		})
	}
}
