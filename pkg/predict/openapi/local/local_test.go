package local_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/local"
)

func kind(group, version, name string) object.Kind {
	return object.Kind{GVK: schema.GroupVersionKind{Group: group, Version: version, Kind: name}}
}

// TestTypesMatchPublishedSchemas in test/e2e compares all of these types with a server's.
func TestBuiltIn(t *testing.T) {
	var kinds local.Types
	for _, tt := range []struct {
		kind     object.Kind
		path     string
		name     string
		kinds    []string
		relation openapi.Relation
	}{
		{kind("apps", "v1", "Deployment"), ".spec.template.spec", "io.k8s.api.core.v1.PodSpec", []string{"object"}, openapi.Granular},
		{kind("apps", "v1", "Deployment"), ".spec.template.spec.containers", "", []string{"array"}, openapi.Granular},
		{kind("apps", "v1", "Deployment"), ".spec.template.spec.tolerations", "", []string{"array"}, openapi.Atomic},
		{kind("apps", "v1", "Deployment"), `.spec.template.spec.containers[name="a"].resources.limits.cpu`, "io.k8s.apimachinery.pkg.api.resource.Quantity", nil, openapi.Unknown},
		{kind("apps", "v1", "Deployment"), `.spec.template.spec.containers[name="a"].resources.claims`, "", []string{"array"}, openapi.Granular},
		{kind("apps", "v1", "Deployment"), ".spec.template.spec.nodeSelector", "", []string{"object"}, openapi.Atomic},
		{kind("apps", "v1", "Deployment"), ".spec.replicas", "", []string{"integer"}, openapi.Unknown},
		{kind("apps", "v1", "Deployment"), ".spec.strategy.rollingUpdate.maxSurge", "io.k8s.apimachinery.pkg.util.intstr.IntOrString", nil, openapi.Unknown},
		{kind("apps", "v1", "Deployment"), ".metadata.labels", "", []string{"object"}, openapi.Granular},
		{kind("apps", "v1", "Deployment"), ".metadata.creationTimestamp", "io.k8s.apimachinery.pkg.apis.meta.v1.Time", []string{"string"}, openapi.Unknown},
		{kind("", "v1", "Secret"), ".data.a", "", []string{"string"}, openapi.Unknown},
		{kind("", "v1", "PersistentVolume"), ".spec.claimRef", "io.k8s.api.core.v1.ObjectReference", []string{"object"}, openapi.Granular},
		{kind("rbac.authorization.k8s.io", "v1", "RoleBinding"), ".roleRef", "io.k8s.api.rbac.v1.RoleRef", []string{"object"}, openapi.Atomic},
	} {
		path, err := fieldpath.ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		types := openapi.Schema{Fetch: func() openapi.Type { return kinds.Of(tt.kind) }}
		got := types.At(path)
		if got == nil {
			t.Errorf("%s is not known", tt.path)
			continue
		}
		if got.Name() != tt.name || !slices.Equal(got.Kinds(), tt.kinds) || openapi.RelationOf(got) != tt.relation {
			t.Errorf("%s is a %q, %v, %v", tt.path, got.Name(), got.Kinds(), openapi.RelationOf(got))
		}
	}
	for _, unknown := range []object.Kind{
		kind("apps", "v1", "Thing"), kind("apps", "v1beta1", "Deployment"), kind("example.com", "v1", "Deployment"),
	} {
		if kinds.Of(unknown) != nil {
			t.Errorf("%s is known", unknown.GVK)
		}
	}
}
