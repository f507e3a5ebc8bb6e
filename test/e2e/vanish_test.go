package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// spelt are objects with values that the server drops, completes or copies: nulls, empties,
// defaults, aliases of a field. NS is the namespace.
const spelt = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: nulls}
spec:
  selector: {matchLabels: {app: nulls}}
  template:
    metadata: {labels: {app: nulls}}
    spec:
      containers:
      - name: app
        image: "registry.example/web:1.2.3"
        resources: null
        volumeMounts: [{name: tok, mountPath: /tok}]
      volumes:
      - name: tok
        projected:
          sources:
          - serviceAccountToken: {path: token, expirationSeconds: 86400}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: roll}
spec:
  selector: {matchLabels: {app: roll}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: roll}}
    spec:
      containers: [{name: app, image: "registry.example/web:1.2.3"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: nulls.NS}
webhooks:
- name: a.nulls.example.com
  objectSelector: null
  failurePolicy: Ignore
  clientConfig: {service: {namespace: default, name: none, path: /}}
  rules: [{apiGroups: [nothing.example.com], apiVersions: [v1], operations: [CREATE], resources: [things], scope: Namespaced}]
  admissionReviewVersions: [v1]
  sideEffects: None
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: quiet}
spec:
  selector: {matchLabels: {app: quiet}}
  template:
    metadata: {labels: {app: quiet}}
    spec:
      containers:
      - {name: app, image: "registry.example/web:1.2.3", env: [{name: PROXY, value: ""}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ledger}
spec:
  selector: {matchLabels: {app: ledger}}
  template:
    metadata: {labels: {app: ledger}}
    spec:
      serviceAccount: ledger-reader
      serviceAccountName: default
      containers: [{name: app, image: "registry.example/ledger:1.4.2"}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.NS.example}
spec:
  group: NS.example
  scope: Namespaced
  names: {kind: Lamp, plural: lamps, singular: lamp, listKind: LampList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              pod: {type: object, properties: {}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bulbs.NS.example}
spec:
  group: NS.example
  scope: Namespaced
  names: {kind: Bulb, plural: bulbs, singular: bulb, listKind: BulbList}
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
              monitor: {type: object, x-kubernetes-preserve-unknown-fields: true, default: {}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plugs.NS.example}
spec:
  group: NS.example
  scope: Namespaced
  names: {kind: Plug, plural: plugs, singular: plug, listKind: PlugList}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Age, type: date, jsonPath: .metadata.creationTimestamp, description: ""}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, required: [], properties: {a: {type: string, enum: ["x"], description: ""}}}
`

// After the first apply, values that the server drops or completes cause neither a write nor a dry
// run.
func TestDroppedValuesAreWrittenOnce(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	set := e2etest.File(t, strings.ReplaceAll(spelt, "NS", ns))
	const contradiction = `.spec.template.spec.serviceAccount is "ledger-reader", but the server sets it to "default"`
	if r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0); strings.Count(r.Stderr.String(), contradiction) != 1 {
		t.Errorf("the contradiction is not reported exactly once: %s", r)
	}
	from := len(p.Requests())
	r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "-v", "1").Ends(t, 0).Says(t, "9 unchanged")
	for _, q := range p.Requests()[from:] {
		if q.Method != "GET" {
			t.Errorf("%s %s", q.Method, q.URI)
		}
	}
	if t.Failed() || strings.Contains(r.Stderr.String(), "serviceAccount") {
		t.Error(r)
	}
}

// variants are objects with random spellings of null, zero and default, in places where the server
// completes or drops them. ANY stands for one of the spellings of its name.
var variants = map[string]string{
	"Deployment": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: spelt}, spec: {selector: {matchLabels: {app: a}},
		template: {metadata: {labels: {app: a}, annotations: ANY-map}, spec: {nodeSelector: ANY-map,
		securityContext: ANY-map, affinity: ANY-map, hostNetwork: ANY-bool, tolerations: ANY-list, imagePullSecrets: ANY-list,
		containers: [{name: app, image: x, resources: ANY-map, securityContext: ANY-map, env: ANY-list, args: ANY-list, tty: ANY-bool,
		ports: ANY-list, livenessProbe: {httpGet: {port: 1, host: ANY-text, httpHeaders: ANY-list}},
		lifecycle: ANY-map, workingDir: ANY-text}], volumes: [{name: v, emptyDir: {medium: ANY-text}}, {name: s, secret: {secretName: s, items: ANY-list, optional: ANY-bool}}]}}}}`,
	"MutatingWebhookConfiguration": `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: spelt.NS, annotations: ANY-map},
		webhooks: [{name: a.spelt.example.com, objectSelector: ANY-map, namespaceSelector: ANY-map, failurePolicy: Ignore, matchConditions: ANY-list,
		clientConfig: {service: {namespace: default, name: none, path: ANY-text}}, admissionReviewVersions: [v1], sideEffects: None,
		rules: [{apiGroups: [nothing.example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]}]}`,
	"CustomResourceDefinition": `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: spelts.NS.example}, spec: {group: NS.example, scope: Namespaced,
		names: {kind: Spelt, plural: spelts, singular: spelt, listKind: SpeltList, shortNames: ANY-list, categories: ANY-list},
		versions: [{name: v1, served: true, storage: true, deprecated: ANY-bool, subresources: ANY-map, additionalPrinterColumns: [{name: A, type: date, jsonPath: .metadata.creationTimestamp, description: ANY-text, priority: ANY-number}],
		schema: {openAPIV3Schema: {type: object, description: ANY-text, properties: {spec: {type: object, required: ANY-list, properties: ANY-map, nullable: ANY-bool, title: ANY-text,
		x-kubernetes-preserve-unknown-fields: true}, a: {type: array, minItems: ANY-number, maxItems: ANY-number, items: {type: string, description: ANY-text, minLength: ANY-number, pattern: ANY-text, format: ANY-text, enum: ANY-list}},
		b: {type: object, minProperties: ANY-number, additionalProperties: {type: integer, minimum: ANY-number, nullable: ANY-bool, description: ANY-text, exclusiveMinimum: ANY-bool}}}}}}]}}`,
	"ResourceClaimTemplate": `{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: NAME}, spec: {metadata: ANY-map, spec: {devices: {constraints: ANY-list, config: ANY-list,
		requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, selectors: ANY-list, tolerations: ANY-list, adminAccess: ANY-bool}}]}}}}`,
}

func spelling(r *rand.Rand, text, of string) string {
	spellings := map[string][]string{
		"map": {"null", "{}", "null", "{}", ""}, "list": {"null", "[]", "[]", ""}, "bool": {"false", "null", "false", "true", ""},
		"text": {`""`, "null", `""`, ""}, "number": {"0", "null", "0", "1", ""},
	}
	marker := regexp.MustCompile(`[A-Za-z0-9-]+: ANY-([a-z]+)(, )?`)
	return marker.ReplaceAllStringFunc(strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "NS", of), func(place string) string {
		m := marker.FindStringSubmatch(place)
		value := spellings[m[1]][r.IntN(len(spellings[m[1]]))]
		if value == "" {
			return ""
		}
		return strings.Replace(place, "ANY-"+m[1], value, 1)
	})
}

// For all spellings of null, zero and default: if an object is reported as unchanged, the server
// would not change it, after the same manifest and after another one.
func TestSpellingsOfEmptyValues(t *testing.T) {
	c := shared.Cluster(t)
	s, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.seedFromEnv(t)
	ns := e2etest.Namespace(t, c)
	for kind, text := range variants {
		t.Run(kind, func(t *testing.T) {
			r := rand.New(rand.NewPCG(s.seed, uint64(len(text))))
			var all counts
			rounds := circle.Of(6, 20, 200)
			var unsettled []string
			for round := range rounds {
				manifest := fieldstest.Read(t, spelling(r, text, ns))
				if kind == "ResourceClaimTemplate" { // its spec is immutable
					manifest.SetName(fmt.Sprint("spelt-", round))
				}
				if manifest.GetNamespace() == "" && (kind == "Deployment" || kind == "ResourceClaimTemplate") {
					manifest.SetNamespace(ns)
				}
				o := &subject{server: s, ref: object.RefOf(manifest), manifest: manifest}
				what := fmt.Sprintf("SEED=%d, round %d", s.seed, round)
				if round > 0 && kind != "ResourceClaimTemplate" {
					all.plus(o.judge(t, what, manifest))
				}
				if _, err := o.apply(t.Context(), manifest, manager, true, false); err != nil {
					continue // not every spelling is valid
				}
				again := o.judge(t, what+", applied", manifest)
				if all.plus(again); again.settled == 0 {
					unsettled = append(unsettled, inJSON(t, manifest.Object["spec"]))
				}
				all.applied++
				all.appliedSettled += again.settled
			}
			t.Logf("%d of %d settled after apply; of %d judgements %d settled", all.appliedSettled, all.applied, all.judged, all.settled)
			if len(unsettled) > 0 {
				t.Logf("not settled after it was applied, such as %s", unsettled[0])
			}
			if all.appliedSettled < all.applied*3/4 || all.applied < rounds/2 {
				t.Errorf("of %d applied in %d rounds, only %d are settled", all.applied, rounds, all.appliedSettled)
			}
		})
	}
}
