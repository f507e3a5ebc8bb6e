package preflight

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// If an object in the input needs a pruned object, there is a remark, even if both are deleted
// together. If the object works without the pruned one, there is none.
func TestLosses(t *testing.T) {
	const pod = `spec: {template: {spec: {%s, containers: [{name: c, image: x%s}]}}}`
	workload := func(spec, container string) string {
		return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod}, " + fmt.Sprintf(pod, spec, container) + "}"
	}
	for name, tt := range map[string]struct {
		stays, goes string // goes is KIND[.GROUP]/NAME
		want        string // the code and the path
	}{
		"a ConfigMap in a volume": {workload("volumes: [{name: v, configMap: {name: a}}]", ""), "ConfigMap/a", `NeedsPruned .spec.template.spec.volumes[name="v"].configMap`},
		"an optional ConfigMap":   {workload("volumes: [{name: v, configMap: {name: a, optional: true}}]", ""), "ConfigMap/a", ""},
		"another ConfigMap":       {workload("volumes: [{name: v, configMap: {name: a}}]", ""), "ConfigMap/b", ""},
		"a Secret in env":         {workload("restartPolicy: Always", ", envFrom: [{secretRef: {name: a}}]"), "Secret/a", `NeedsPruned .spec.template.spec.containers[name="c"].envFrom`},
		"a claim":                 {workload("volumes: [{name: v, persistentVolumeClaim: {claimName: a}}]", ""), "PersistentVolumeClaim/a", `NeedsPruned .spec.template.spec.volumes[name="v"].persistentVolumeClaim`},
		"an account":              {workload("serviceAccountName: a", ""), "ServiceAccount/a", "NeedsPruned .spec.template.spec.serviceAccountName"},
		"a token":                 {`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: t, namespace: prod, annotations: {kubernetes.io/service-account.name: a}}}`, "ServiceAccount/a", `GoesWithPruned .metadata.annotations["kubernetes.io/service-account.name"]`},
		"an owner":                {`{apiVersion: v1, kind: ConfigMap, metadata: {name: t, namespace: prod, ownerReferences: [{apiVersion: x.io/v1, kind: Db, name: a, uid: "1"}]}}`, "Db.x.io/a", "GoesWithPruned .metadata.ownerReferences"},
		"a role":                  {`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: prod}, roleRef: {kind: Role, name: a}}`, "Role.rbac.authorization.k8s.io/a", "NeedsPruned .roleRef"},
		"a backend":               {`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: prod}, spec: {rules: [{http: {paths: [{path: /, backend: {service: {name: a}}}]}}]}}`, "Service/a", "NeedsPruned .spec.rules"},
		"a target":                {`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: prod}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}`, "Deployment.apps/a", "NeedsPruned .spec.scaleTargetRef"},
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(tt.stays), &u.Object); err != nil {
			t.Fatal(name, err)
		}
		kind, which, _ := strings.Cut(tt.goes, "/")
		gone := object.Ref{GVK: schema.ParseGroupKind(kind).WithVersion("v9"), Namespace: "prod", Name: which}
		var got []string
		for _, r := range Losses([]*unstructured.Unstructured{u}, []object.Ref{gone}) {
			got = append(got, r.Code+" "+r.Path)
			if r.Ref != object.RefOf(u) || r.Text == "" || r.Hint == "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
