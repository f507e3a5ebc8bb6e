package chart_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Edge case 103: with the webhook's own token, a client can reduce the API server's calls to the
// webhook and nothing else, for every set of values with a configuration.
func TestPolicy(t *testing.T) {
	s := newSite(t)
	_, bundle := certificateFor(t, "policy")
	s.define(t, "cert-manager.io", "Issuer", "Certificate")
	for i, values := range []string{
		"replicas=1",
		"admission.timeoutSeconds=2,exclude.kinds={CiliumEndpoint.cilium.io},exclude.namespaces={ours}",
		"certificates.certManager=true,admission.deprecation=false",
	} {
		t.Run(values, func(t *testing.T) {
			const release = "policy"
			home := fmt.Sprintf("policy-home-%d", i)
			s.install(t, release, home, "--set", values)
			defer s.helm.Run(t, "uninstall", release, "--namespace", home)
			as := s.as(t, "system:serviceaccount:"+home+":"+release, "system:serviceaccounts", "system:serviceaccounts:"+home, "system:authenticated")
			patch := func(path string, value any, dryRun ...string) error {
				body, err := json.Marshal([]map[string]any{{"op": "add", "path": path, "value": value}})
				if err != nil {
					t.Fatal(err)
				}
				_, err = as.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(t.Context(), release, types.JSONPatchType, body, metav1.PatchOptions{DryRun: dryRun})
				return err
			}
			// The API server notices the roles and the policy by watches.
			eventually(t, "the account may write, and the policy holds", func() bool {
				return patch("/webhooks/0/clientConfig/caBundle", bundle, metav1.DryRunAll) == nil &&
					apierrors.IsForbidden(patch("/webhooks/0/timeoutSeconds", 30, metav1.DryRunAll))
			})
			selector := map[string]any{"matchLabels": map[string]any{"no": "object"}}
			for path, value := range map[string]any{
				"/webhooks/0/clientConfig/caBundle":     bundle,
				"/webhooks/0/clientConfig/service/path": "/ownership/secret",
				"/webhooks/0/objectSelector":            selector,
			} {
				if err := patch(path, value); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			refused := map[string]any{}
			if !strings.Contains(values, "deprecation=false") {
				custom := func(group, resource, operation string) []any {
					return []any{map[string]any{"apiGroups": []string{group}, "apiVersions": []string{"v1beta1"}, "resources": []string{resource}, "operations": []string{operation}}}
				}
				config, err := s.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), release, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				rules := fmt.Sprintf("/webhooks/%d/rules", slices.IndexFunc(config.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name == "custom.k8sconnect.io" }))
				if err := patch(rules, custom("example.com", "birds", "UPDATE")); err != nil {
					t.Errorf("patch the rules of a custom kind: %v", err)
				}
				refused[rules] = custom("*", "birds", "UPDATE")
				refused[rules+"/-"] = custom("", "pods", "CREATE")[0]
				refused[rules+"/0"] = custom("example.com", "*/*", "CREATE")[0]
				refused[rules+"/0/operations"] = []string{"DELETE"}
			}
			rule := map[string]any{"apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}, "operations": []string{"*"}}
			entry := map[string]any{
				"name": "evil.example.com", "clientConfig": map[string]any{"url": "https://127.0.0.1:1/"}, "rules": []any{rule},
				"admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
			}
			maps.Copy(refused, map[string]any{
				"/webhooks/0/failurePolicy":                   "Fail",
				"/webhooks/0/timeoutSeconds":                  30,
				"/webhooks/0/sideEffects":                     "None",
				"/webhooks/0/matchPolicy":                     "Exact",
				"/webhooks/0/rules":                           []any{rule},
				"/webhooks/0/rules/-":                         rule,
				"/webhooks/0/rules/0/resources":               []string{"*/*"},
				"/webhooks/0/rules/0/operations":              []string{"*"},
				"/webhooks/0/matchConditions":                 []any{},
				"/webhooks/0/matchConditions/0/expression":    "true",
				"/webhooks/0/namespaceSelector":               map[string]any{},
				"/webhooks/0/clientConfig":                    map[string]any{"url": "https://127.0.0.1:1/"},
				"/webhooks/0/clientConfig/service/name":       "another",
				"/webhooks/0/clientConfig/service/namespace":  "kube-system",
				"/webhooks/0/clientConfig/service/port":       8443,
				"/webhooks/0/name":                            "other.k8sconnect.io",
				"/webhooks/-":                                 entry,
				"/webhooks":                                   []any{entry},
				"/metadata/labels/a":                          "b",
				"/metadata/annotations/k8sconnect.io~1digest": "0",
				"/metadata/finalizers":                        []string{"example.com/stay"},
				"/metadata/ownerReferences":                   []any{map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": home, "uid": "0"}},
			})
			for path, value := range refused {
				if err := patch(path, value); !apierrors.IsForbidden(err) {
					t.Errorf("%s: %v, want the policy's refusal", path, err)
				}
			}
			// The policy restricts no other account.
			admin := s.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations()
			if _, err := admin.Patch(t.Context(), release, types.JSONPatchType, []byte(`[{"op":"add","path":"/webhooks/0/timeoutSeconds","value":2}]`), metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
			if err := patch("/webhooks/0/clientConfig/caBundle", bundle); err != nil {
				t.Errorf("patch after an administrator has changed an entry: %v", err)
			}
		})
	}
}

// as returns a client of another user.
func (s site) as(t *testing.T, user string, groups ...string) *kubernetes.Clientset {
	t.Helper()
	config, err := s.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Impersonate = -1, rest.ImpersonationConfig{UserName: user, Groups: groups}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
