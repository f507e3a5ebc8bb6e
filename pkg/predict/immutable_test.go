package predict_test

import (
	"testing"

	kinds "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

func TestIsChangeable(t *testing.T) {
	for kind, fields := range map[kinds.GroupKind]map[string]bool{
		{Group: "apps", Kind: "StatefulSet"}: {
			".spec.replicas": true, ".spec.template.spec.nodeName": true, ".spec.minReadySeconds": true, ".spec.serviceName": false, ".spec": false,
		},
		{Kind: "PersistentVolumeClaim"}: {
			".spec.resources.requests.storage": true, ".spec.volumeAttributesClassName": true, ".spec.storageClassName": false, ".spec.accessModes": false,
		},
		{Kind: "Pod"}: {
			`.spec.containers[name="a"].image`: true, `.spec.initContainers[name="a"].image`: true, `.spec.containers[name="a"].command`: false,
			".spec.containers": false, ".spec.activeDeadlineSeconds": true, ".spec.terminationGracePeriodSeconds": true, ".spec.tolerations": true,
			".spec.nodeName": false,
		},
		{Group: "batch", Kind: "Job"}: {".spec.completions": false},
	} {
		for field, want := range fields {
			path, err := fieldpath.ParsePath(field)
			if err != nil {
				t.Fatal(err)
			}
			if got := predict.IsChangeable(kind, path); got != want {
				t.Errorf("%s of a %s: %t, want %t", field, kind.Kind, got, want)
			}
		}
	}
}
