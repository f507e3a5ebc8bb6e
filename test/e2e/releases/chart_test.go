package releases_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const gearDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.forecast.example.com}
spec:
  group: forecast.example.com
  scope: Namespaced
  names: {kind: Gear, plural: gears, singular: gear}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}, colour: {type: string},
      teeth: {type: array, items: {type: integer}}, parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
      items: {type: object, required: [name], properties: {name: {type: string}, count: {type: integer}}}}}}}}}
`

func gvr(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

// kindOf is a kind of object in the charts. In its template and its writes, each %d becomes a small
// random number. Parts of its template between « and » are sometimes left out.
type kindOf struct {
	name     string
	gvr      schema.GroupVersionResource
	template string
	// writes are JSON merge patches.
	writes []string
}

func kinds() []kindOf {
	meta := func(more ...string) []string {
		return append([]string{
			`{"metadata": {"labels": {"tier": "%d"}}}`, `{"metadata": {"annotations": {"note": "%d"}}}`, `{"metadata": {"labels": {"human": "%d"}}}`,
		}, more...)
	}
	const head = "metadata: {name: web, labels: {tier: '%d'}, annotations: {«note: '%d'»}}\n"
	return []kindOf{
		{
			"ConfigMap", gvr("", "v1", "configmaps"), "apiVersion: v1\nkind: ConfigMap\n" + head + "data: {«mode: 'm%d',» index.html: 'i%d'}\n",
			meta(`{"data": {"mode": "m%d"}}`, `{"data": {"index.html": "i%d"}}`, `{"data": {"human": "%d"}}`, `{"data": {"mode": null}}`),
		},
		{
			"Secret", gvr("", "v1", "secrets"), "apiVersion: v1\nkind: Secret\n" + head + "data: {user: eHh%dMTIz}\nstringData: {word: 'w%d'}\n",
			meta(`{"data": {"user": "eHh%dMTIz"}}`, `{"data": {"more": "eHh%dMTIz"}}`, `{"data": {"word": "eHh%dMTIz"}}`, `{"stringData": {"word": "w%d"}}`),
		},
		{
			"Deployment", gvr("apps", "v1", "deployments"),
			"apiVersion: apps/v1\nkind: Deployment\n" + head + `spec:
  «replicas: %d»
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/web:%d
        «args: [a%d]»
        ports: [{containerPort: 80}]
        env: [{name: MODE, value: 'm%d'}]
`,
			meta(`{"spec": {"replicas": %d}}`,
				`{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "registry.example/web:%d", "args": ["a%d"], "ports": [{"containerPort": 80}], "env": [{"name": "MODE", "value": "m%d"}]}]}}}}`,
				`{"spec": {"template": {"metadata": {"annotations": {"restarted": "%d"}}}}}`, `{"spec": {"minReadySeconds": %d}}`),
		},
		{
			"Service", gvr("", "v1", "services"), "apiVersion: v1\nkind: Service\n" + head + "spec: {selector: {app: 'web%d'}, ports: [{name: http, port: 80, targetPort: 808%d}]}\n",
			meta(`{"spec": {"selector": {"app": "web%d"}}}`, `{"spec": {"ports": [{"name": "http", "port": 80, "targetPort": 808%d}]}}`),
		},
		{
			"Role", gvr("rbac.authorization.k8s.io", "v1", "roles"), "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n" + head + "rules: [{apiGroups: [''], resources: [r%d], verbs: [get]}]\n",
			meta(`{"rules": [{"apiGroups": [""], "resources": ["r%d"], "verbs": ["get"]}]}`),
		},
		{
			"PodDisruptionBudget", gvr("policy", "v1", "poddisruptionbudgets"), "apiVersion: policy/v1\nkind: PodDisruptionBudget\n" + head + "spec: {minAvailable: %d, selector: {matchLabels: {app: web}}}\n",
			meta(`{"spec": {"minAvailable": %d}}`),
		},
		{
			"Gear", gvr("forecast.example.com", "v1", "gears"), "apiVersion: forecast.example.com/v1\nkind: Gear\n" + head + "spec: {«size: %d,» «teeth: [%d],» parts: [{name: a, count: %d}]}\n",
			meta(`{"spec": {"size": %d}}`, `{"spec": {"teeth": [%d]}}`, `{"spec": {"colour": "c%d"}}`, `{"spec": {"parts": [{"name": "a", "count": %d}]}}`),
		},
	}
}

// fill replaces each %d by a number from 1 to 3.
func fill(r *rand.Rand, text string) string {
	for {
		before, rest, found := strings.Cut(text, "«")
		if !found {
			break
		}
		part, after, _ := strings.Cut(rest, "»")
		if r.IntN(5) == 0 {
			part = ""
		}
		text = before + part + after
	}
	n := strings.Count(text, "%d")
	numbers := make([]any, n)
	for i := range numbers {
		numbers[i] = 1 + r.IntN(3)
	}
	return fmt.Sprintf(text, numbers...)
}

// writer is one of eight writers: a field manager and how it writes.
type writer struct{ manager, how string }

func writers() []writer {
	return []writer{
		{"kubectl-edit", "patch"},
		{"kubectl-patch", "patch"},
		{"kubectl-client-side-apply", "patch"},
		{"operator", "patch"},
		{"argocd-controller", "apply"},
		{"flux", "apply"},
		{"helm", "patch"},
		{"kube-controller-manager", "scale"},
	}
}

// write changes an object as a random writer. Sometimes it clears the owners or deletes the object.
func (s *site) write(t *testing.T, r *rand.Rand, kind kindOf) {
	t.Helper()
	client := s.of(kind.gvr)
	by := writers()[r.IntN(8)]
	patch := fill(r, kind.writes[r.IntN(len(kind.writes))])
	var err error
	switch chance := r.IntN(60); {
	case chance == 0:
		_, err = client.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata": {"managedFields": [{}]}}`), metav1.PatchOptions{})
	case chance == 1:
		err = client.Delete(t.Context(), "web", metav1.DeleteOptions{})
	case chance == 2:
		patch = `{"metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}}`
		_, err = client.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "helm"})
	case by.how == "scale" && kind.name == "Deployment":
		patch = fill(r, `{"spec": {"replicas": %d}}`)
		_, err = client.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: by.manager}, "scale")
	case by.how == "apply" && !strings.Contains(patch, "null"):
		var o map[string]any
		if err := json.Unmarshal([]byte(patch), &o); err != nil {
			t.Fatal(err)
		}
		meta, _ := o["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["name"] = "web"
		o["metadata"], o["apiVersion"], o["kind"] = meta, kind.gvr.GroupVersion().String(), kind.name
		raw, _ := json.Marshal(o)
		if _, err := client.Get(t.Context(), "web", metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return // It would be created.
		}
		force := true
		_, err = client.Patch(t.Context(), "web", types.ApplyPatchType, raw, metav1.PatchOptions{FieldManager: by.manager, Force: &force})
	default:
		_, err = client.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: by.manager})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatalf("%s: %s: %v", kind.name, patch, err)
	}
}

// template returns a chart of the given kinds, with random values.
func template(r *rand.Rand, of []kindOf) string {
	var texts []string
	for _, k := range of {
		texts = append(texts, fill(r, k.template))
	}
	return strings.Join(texts, "---\n")
}

func some(r *rand.Rand, all []kindOf, n int) []kindOf {
	out := slices.Clone(all)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:n]
}
