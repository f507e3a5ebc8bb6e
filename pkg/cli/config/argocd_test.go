package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	for text, want := range map[string]string{
		"/spec/replicas": ".spec.replicas",
		"/metadata/annotations/example.com~1a~0b": `.metadata.annotations["example.com/a~b"]`,
		"/webhooks/0/clientConfig/caBundle":       ".webhooks[*].clientConfig.caBundle !",
		"/data":                                   ".data",
		"spec/replicas":                           "not a JSON pointer",
		"/":                                       "",
	} {
		path, note, err := pointer(text)
		check(t, text, want, path, note, err)
	}
	for text, want := range map[string]string{
		".spec.replicas": ".spec.replicas",
		`.spec.template.spec.initContainers[] | select(.name == "injected-init-container")`: `.spec.template.spec.initContainers[name="injected-init-container"]`,
		`.spec.containers[] | select(.name=="a") | .env[]?.value`:                           `.spec.containers[name="a"].env[*].value`,
		`.webhooks[]?.clientConfig.caBundle`:                                                ".webhooks[*].clientConfig.caBundle",
		`.webhooks[0].failurePolicy`:                                                        ".webhooks[*].failurePolicy !",
		`.metadata.annotations."a/b"`:                                                       `.metadata.annotations["a/b"]`,
		`.metadata.annotations["a.b\"c"]`:                                                   `.metadata.annotations["a.b\"c"]`,
		`(.spec.replicas)`:                                                                  ".spec.replicas",
		`.spec | .replicas`:                                                                 ".spec.replicas",
		`.spec.versions[].schema | .. | .description?`:                                      "not a plain path",
		`.spec.template.spec.containers[] | select(.name == "a" or .name == "b")`:           "not a plain path",
		`.spec.rules[] | select(.name|test("autogen-."))`:                                   "not a plain path",
		`del(.spec)`:  "not a plain path",
		`.`:           "not a plain path",
		`.spec, .foo`: "not a plain path",
		``:            "the path is empty",
	} {
		path, note, err := jq(text)
		check(t, text, want, path, note, err)
	}
}

func check(t *testing.T, text, want, path, note string, err error) {
	t.Helper()
	got := path
	if note != "" {
		got += " !"
	}
	if err != nil {
		if want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		return
	}
	if got != want && want != "" {
		t.Errorf("%s: %s, want %s", text, got, want)
	}
}

// Every ignored field that no rule can express is reported with its line.
func TestConvert(t *testing.T) {
	out, err := Convert("apps.yaml", []byte(`
apiVersion: v1
kind: ConfigMap
---
apiVersion: argoproj.io/v1alpha1
kind: Application
spec:
  ignoreDifferences:
  - group: apps
    kind: Deployment
    name: web
    namespace: shop
    jsonPointers: [/spec/replicas, /spec/paused]
    managedFieldsManagers: [kube-controller-manager, "odd: name"]
  - kind: Secret
    jqPathExpressions:
    - .data | keys
    - .data["a.b"]
  - {group: "*", kind: "*", managedFieldsManagers: [rollouts]}
  - {group: apps, kind: "*", jsonPointers: [/spec]}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
spec:
  template:
    spec:
      ignoreDifferences:
      - {kind: ValidatingWebhookConfiguration, group: admissionregistration.k8s.io, jsonPointers: [/webhooks/0/failurePolicy, /webhooks/1/failurePolicy]}
`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := out.YAML()
	if err != nil {
		t.Fatal(err)
	}
	const want = `yield:
  # apps.yaml:9
  - {kind: Deployment.apps, namespace: shop, name: web, path: [.spec.replicas, .spec.paused]}
  # apps.yaml:9
  - {kind: Deployment.apps, namespace: shop, name: web, manager: kube-controller-manager}
  # apps.yaml:9
  - {kind: Deployment.apps, namespace: shop, name: web, manager: 'odd: name'}
  # apps.yaml:15
  - {kind: Secret, path: '.data["a.b"]'}
  # apps.yaml:19
  - {kind: '*', manager: rollouts}
  # apps.yaml:28
  - {kind: ValidatingWebhookConfiguration.admissionregistration.k8s.io, path: '.webhooks[*].failurePolicy'}
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"apps.yaml:17: .data | keys: " + errNotPlain.Error(),
		"apps.yaml:20: the entry covers all kinds in the group apps: list the kinds instead",
	}, out.Left); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"apps.yaml:28: /webhooks/0/failurePolicy: " + anyItem, "apps.yaml:28: /webhooks/1/failurePolicy: " + anyItem,
	}, out.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestConvertNothing(t *testing.T) {
	for text, want := range map[string]string{
		"":                "no Application",
		"a: [":            "apps.yaml: yaml:",
		"kind: ConfigMap": "no Application",
		"- a":             "no Application",
		"{kind: Application, spec: {ignoreDifferences: all}}": "apps.yaml:",
	} {
		if _, err := Convert("apps.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	out, err := Convert("apps.yaml", []byte("kind: Application"))
	if err != nil || out.Rules() != 0 {
		t.Errorf("Application without ignored fields: %v, %v", out, err)
	}
}
