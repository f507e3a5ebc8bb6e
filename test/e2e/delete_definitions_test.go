package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// The API server's finalizer of a definition lists the instances of its kind. Unless the kind was
// requested before, the list fails, and the CRD may wait five minutes for the next try. The list
// has to succeed at the first try, for namespaced and cluster-scoped kinds, whatever version is
// stored.
func TestDeleteDefinitionsOfUnusedKinds(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	const kinds = 12
	var set strings.Builder
	for i := range kinds {
		scope := []string{"Namespaced", "Cluster"}[i%2]
		stored := []string{"v1", "v2"}[i/2%2]
		version := func(name string, served bool) string {
			return fmt.Sprintf("{name: %s, served: %v, storage: %v, schema: {openAPIV3Schema: {type: object}}}", name, served, name == stored)
		}
		fmt.Fprintf(&set, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: quiet%[1]ds.%[2]s.example.com}
spec:
  group: %[2]s.example.com
  scope: %[3]s
  names: {kind: Quiet%[1]d, plural: quiet%[1]ds}
  versions: [%[4]s, %[5]s]
`, i, ns, scope, version("v1", true), version("v2", i < kinds/2))
	}
	input := e2etest.File(t, set.String())
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", input).Ends(t, 0)

	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	changes, err := definitions.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	e2etest.Plugin(t, c.KubeconfigPath, "delete", "-f", input).Ends(t, 0).Says(t, fmt.Sprintf("%d deleted", kinds))
	for gone := 0; gone < kinds; {
		change, ok := <-changes.ResultChan()
		definition, is := change.Object.(*unstructured.Unstructured)
		if !ok || !is {
			t.Fatalf("the watch ended after %d of %d deletions: %v", gone, kinds, change.Object)
		}
		if !strings.HasSuffix(definition.GetName(), "."+ns+".example.com") {
			continue
		}
		if at := object.ConditionOf(definition, "Terminating"); at.Reason == "InstanceDeletionFailed" {
			t.Errorf("%s: %s", definition.GetName(), at.Message)
		}
		if change.Type == watch.Deleted {
			gone++
		}
	}
}
