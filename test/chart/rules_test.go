package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// listed reads one of the chart's lists.
func listed(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Dir(t), "files", name))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	if err := yaml.Unmarshal(text, &list); err != nil || len(list) == 0 {
		t.Fatal(err, list)
	}
	return list
}

// matches reports whether the API server evaluates conditions for a request.
func matches(rules []admissionv1.RuleWithOperations, operation admissionv1.OperationType, resource schema.GroupVersionResource) bool {
	among := func(list []string, value string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, value)
	}
	return slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
		return slices.Contains(r.Operations, operation) &&
			among(r.APIGroups, resource.Group) && among(r.APIVersions, resource.Version) && among(r.Resources, resource.Resource)
	})
}

// The API server evaluates a condition for a create only if a field or a version may be deprecated,
// and for an update only if a version may be; but then always.
func TestRulesMatchOnlyDeprecatedKinds(t *testing.T) {
	config, ok := find[admissionv1.ValidatingWebhookConfiguration](t, rendered(t), "ValidatingWebhookConfiguration")
	i := slices.IndexFunc(config.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name == "deprecation.k8sconnect.io" })
	if !ok || i < 0 {
		t.Fatal("no such webhook")
	}
	rules := config.Webhooks[i].Rules
	fields, versions, excluded := listed(t, "deprecated-fields.yaml"), listed(t, "deprecated.yaml"), listed(t, "excluded-kinds.yaml")
	for _, kind := range versions {
		parts := strings.Split(kind, "/")
		if parts[0] != "" {
			continue
		}
		if parts[2] != "ComponentStatus" && !slices.Contains(excluded, parts[2]) {
			t.Errorf("no rule matches the deprecated %s of the core group", parts[2])
		}
	}
	deprecated := map[schema.GroupVersion]bool{}
	for _, kind := range versions {
		if parts := strings.Split(kind, "/"); parts[0] != "" {
			deprecated[schema.GroupVersion{Group: parts[0], Version: parts[1]}] = true
		}
	}
	checked := 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(gvk.Kind, "List") || gvk.Version == "__internal" {
			continue
		}
		checked++
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		may := deprecated[gvk.GroupVersion()]
		for operation, want := range map[admissionv1.OperationType]bool{
			admissionv1.Create: may || slices.Contains(fields, gvk.Group+"/"+gvk.Kind),
			admissionv1.Update: may,
		} {
			if got := matches(rules, operation, resource); got != want {
				t.Errorf("%s of %s: matched %t, want %t", operation, resource, got, want)
			}
		}
	}
	if checked < 100 || matches(rules, admissionv1.Create, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "services"}) {
		t.Error("only", checked, "kinds, or a custom kind is matched")
	}
}
