package condition

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const shop = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: prod
  generation: 4
  creationTimestamp: "2026-01-02T03:04:05Z"
  labels: {app: web, app.kubernetes.io/name: shop}
  finalizers: [example.com/keep]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: u}]
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: web}, creationTimestamp: null}
    spec:
      containers:
      - name: app
        image: app:1.2
        resources: {limits: {memory: 1Gi, cpu: 500m}}
        ports: [{containerPort: 80}]
status:
  observedGeneration: 4
  readyReplicas: 2
  replicas: 3
  conditions:
  - {type: Available, status: "True", lastTransitionTime: "2026-01-02T03:04:06Z"}
  - {type: Progressing, status: "False", reason: Slow}
`

func widgetKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
}

// widget is a custom resource with open fields.
const widget = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    properties:
      size: {x-kubernetes-int-or-string: true}
      timeout: {type: string, format: duration}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      x-odd: {type: string}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      anything: {x-kubernetes-preserve-unknown-fields: true}
      rules:
        type: array
        items:
          type: object
          properties:
            name: {type: string}
            value: {x-kubernetes-preserve-unknown-fields: true}
      options:
        type: object
        additionalProperties: {x-kubernetes-preserve-unknown-fields: true}
  status:
    type: object
    properties:
      phase: {type: string}
      ratio: {type: number}
      checked: {type: string, format: date-time}
      nothing: {type: string, nullable: true}
      conditions:
        type: array
        items:
          type: object
          properties: {type: {type: string}, status: {type: string}}
`

const thing = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec:
  size: 50%
  timeout: 90s
  free: {a: {b: 7}, when: "2026-01-02T03:04:05Z"}
  x-odd: yes it is
  template: {kind: Thing, spec: {x: 1}}
  anything: [1, two]
  rules: [{name: a, value: {deep: [1, 2]}}, {name: b, value: text}]
  options: {one: {num: 1}, two: 2}
status:
  phase: Running
  ratio: 1
  checked: "2026-01-02T03:04:05Z"
  nothing: null
`

// Expressions in Kubernetes' CEL work with a schema and without one.
func TestExpressions(t *testing.T) {
	for name, c := range map[string]struct {
		expr string
		want bool
		// typed is set to skip the evaluation without a schema, in which the types of strings are
		// unknown.
		typed bool
	}{
		"compares numbers":          {expr: `self.status.readyReplicas == 2`, want: true},
		"two fields":                {expr: `self.status.readyReplicas == self.spec.replicas`},
		"int with double":           {expr: `self.status.readyReplicas > 1.5`, want: true},
		"labels":                    {expr: `self.metadata.labels['app.kubernetes.io/name'] == 'shop'`, want: true},
		"label by field":            {expr: `self.metadata.labels.app == 'web'`, want: true},
		"finalizers":                {expr: `'example.com/keep' in self.metadata.finalizers`, want: true},
		"generation":                {expr: `self.metadata.generation == self.status.observedGeneration`, want: true},
		"owners":                    {expr: `self.metadata.ownerReferences.exists(o, o.kind == 'ConfigMap')`, want: true},
		"not being deleted":         {expr: `!has(self.metadata.deletionTimestamp)`, want: true},
		"a keyword as field":        {expr: `self.metadata.namespace == 'prod'`, want: true},
		"timestamps":                {expr: `self.metadata.creationTimestamp < timestamp('2027-01-01T00:00:00Z')`, want: true, typed: true},
		"ages":                      {expr: `timestamp('2026-01-02T04:04:05Z') - self.metadata.creationTimestamp == duration('1h')`, want: true, typed: true},
		"timestamps in lists":       {expr: `self.status.conditions.exists(c, c.type == 'Available' && c.lastTransitionTime > self.metadata.creationTimestamp)`, want: true, typed: true},
		"quantities":                {expr: `quantity(self.spec.template.spec.containers[0].resources.limits.memory).isGreaterThan(quantity('512Mi'))`, want: true},
		"int or string":             {expr: `self.spec.strategy.rollingUpdate.maxSurge == '25%' && self.spec.strategy.rollingUpdate.maxUnavailable == 1`, want: true},
		"exists":                    {expr: `self.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')`, want: true},
		"all":                       {expr: `self.status.conditions.all(c, c.status == 'True')`},
		"filter and size":           {expr: `size(self.status.conditions.filter(c, c.status == 'True')) == 1`, want: true},
		"map":                       {expr: `self.spec.template.spec.containers.map(c, c.image) == ['app:1.2']`, want: true},
		"two variables":             {expr: `self.metadata.labels.exists(k, v, k == 'app' && v == 'web')`, want: true},
		"optional that is absent":   {expr: `self.status.?unavailableReplicas.orValue(0) == 0`, want: true},
		"optional index":            {expr: `self.metadata.labels[?'none'].orValue('x') == 'x'`, want: true},
		"regex":                     {expr: `self.metadata.name.find('[a-z]+') == 'web'`, want: true},
		"strings":                   {expr: `self.metadata.name.upperAscii() == 'WEB'`, want: true},
		"sets":                      {expr: `sets.contains(self.metadata.finalizers, ['example.com/keep'])`, want: true},
		"url, ip, cidr, semver":     {expr: `isURL('https://a') && isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.1.1.1') && semver('1.2.3').isLessThan(semver('1.3.0'))`, want: true},
		"format":                    {expr: `!format.dns1123Label().validate(self.metadata.name).hasValue()`, want: true},
		"or with an absent field":   {expr: `self.status.unavailableReplicas == 3 || self.status.replicas == 3`, want: true},
		"and of false and absent":   {expr: `self.status.unavailableReplicas == 3 && self.status.replicas == 4`},
		"has of an absent field":    {expr: `has(self.status.unavailableReplicas)`},
		"has below an absent field": {expr: `has(self.spec.template.spec.affinity) && has(self.spec.template.spec.affinity.nodeAffinity)`},
		"condition":                 {expr: `has(self.spec.paused) ? self.spec.paused : true`, want: true},
		"the whole object":          {expr: `self == self`, want: true},
		"kind":                      {expr: `self.kind == 'Deployment' && self.apiVersion == 'apps/v1'`, want: true},
		"null is absent":            {expr: `!has(self.spec.template.metadata.creationTimestamp)`, want: true, typed: true},
	} {
		for turn, s := range map[string]*spec.Schema{"typed": publishedSchema(t, deployment()), "dynamic": nil} {
			if s == nil && c.typed {
				continue
			}
			t.Run(name+"/"+turn, func(t *testing.T) {
				got := compiled(t, deployment(), s, c.expr).Evaluate(t.Context(), objectOf(t, shop))
				if got.Err != nil || got.Met != c.want {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

// An expression can reach fields that a schema leaves open. In admission rules, it cannot.
func TestOpenSchemas(t *testing.T) {
	for expr, want := range map[string]bool{
		`self.spec.size == '50%'`:                                                       true,
		`self.spec.timeout > duration('1m')`:                                            true,
		`self.spec.free.a.b == 7`:                                                       true,
		`self.spec.free['a']['b'] == 7`:                                                 true,
		`timestamp(self.spec.free.when) < timestamp('2027-01-01T00:00:00Z')`:            true,
		`has(self.spec.free.none)`:                                                      false,
		`self.spec.x__dash__odd == 'yes it is'`:                                         true,
		`self.spec.template.kind == 'Thing' && self.spec.template.spec.x == 1`:          true,
		`self.spec.anything[1] == 'two'`:                                                true,
		`self.spec.rules[0].value.deep[1] == 2`:                                         true,
		`self.spec.rules.exists(r, r.name == 'b' && r.value == 'text')`:                 true,
		`self.spec.options['one'].num == 1 && self.spec.options.two == 2`:               true,
		`self.spec.options.all(k, k in ['one', 'two'])`:                                 true,
		`self.status.ratio == 1.0`:                                                      true,
		`self.status.checked.getFullYear() == 2026`:                                     true,
		`!has(self.status.nothing)`:                                                     true,
		`self.metadata.name == 'a'`:                                                     true,
		`self.spec == self.spec && self.spec.rules == self.spec.rules`:                  true,
		`size(self.spec.options) == 2`:                                                  true,
		`self.spec.rules.map(r, r.name) == ['a', 'b']`:                                  true,
		`self.spec.?free.a.b.orValue(1) == 7 && self.spec.?rules[3] == optional.none()`: true,
	} {
		t.Run(expr, func(t *testing.T) {
			got := compiled(t, widgetKind(), definedSchema(t, widget), expr).Evaluate(t.Context(), objectOf(t, thing))
			if got.Err != nil || got.Met != want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
