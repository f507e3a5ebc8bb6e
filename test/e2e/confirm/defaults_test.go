package confirm_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// An object of a plan can decide which defaults admission gives to a later object of the same plan. The dry
// run of the review cannot show them. The run applies the whole plan nevertheless, and does not take them for
// the work of a webhook that treats dry runs otherwise.
func TestConfirmOwnDefaults(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for name, tt := range map[string]struct{ before, after string }{
		"a default StorageClass": {"", `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NS, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: example.com/none}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: NS}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`},
		"a default IngressClass": {"", `
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: NS, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}}, spec: {controller: example.com/none}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: NS}, spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}
`},
		"a LimitRange": {"", `
{apiVersion: v1, kind: LimitRange, metadata: {name: a, namespace: NS}, spec: {limits: [{type: Container, default: {cpu: 100m}, defaultRequest: {cpu: 50m}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: NS}, spec: {nodeSelector: {missing: node}, containers: [{name: c, image: registry.example/c:1}]}}
`},
		"a ServiceAccount": {`
{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: NS}}
`, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: NS}, imagePullSecrets: [{name: pull}]}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: NS}, spec: {serviceAccountName: a, nodeSelector: {missing: node}, containers: [{name: c, image: registry.example/c:1}]}}
`},
		"a label of the namespace": {`
{apiVersion: v1, kind: Namespace, metadata: {name: NS}}
`, `
{apiVersion: v1, kind: Namespace, metadata: {name: NS, labels: {inject: NS}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, data: {k: "1"}}
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := e2etest.Namespace(t, c)
			in := func(text string) string { return e2etest.File(t, strings.ReplaceAll(text, "NS", ns)) }
			t.Cleanup(func() {
				_ = e2etest.KubectlCommand(t, c, "delete", "--ignore-not-found", "storageclass/"+ns, "ingressclass/"+ns, "mutatingadmissionpolicy/"+ns, "mutatingadmissionpolicybinding/"+ns).Run()
			})
			if tt.before != "" {
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", in(tt.before)).Ends(t, 0)
			}
			if name == "a label of the namespace" {
				e2etest.Kubectl(t, c, "create", "-f", in(injector))
				e2etest.Kubectl(t, c, "create", "namespace", ns+"-probe")
				t.Cleanup(func() { c.DeleteNamespace(ns + "-probe") })
				e2etest.Kubectl(t, c, "label", "namespace", ns+"-probe", "inject="+ns)
				e2etest.Until(t, "the policy acts", func() bool {
					out, _ := e2etest.KubectlCommand(t, c, "create", "configmap", "probe", "-n", ns+"-probe", "--dry-run=server", "-o", "jsonpath={.metadata.annotations.injected}").Output()
					return string(out) == "yes"
				})
			}
			set := []string{"-f", in(tt.after)}
			confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0)
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
			e2etest.Plugin(t, c.KubeconfigPath, append([]string{"diff"}, set...)...).Ends(t, 0)
		})
	}
}

// injector annotates each ConfigMap of namespaces with a label.
const injector = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NS}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {inject: NS}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{annotations: {"injected": "yes"}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS}
`
