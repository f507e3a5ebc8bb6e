package deprecation_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// The same version of a kind is supported on one server, deprecated on the next, removed on a
// third.
func ExampleCheck() {
	flows := schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Kind: "FlowSchema"}
	for _, server := range []deprecation.Release{{Major: 1, Minor: 28}, {Major: 1, Minor: 30}, {Major: 1, Minor: 32}} {
		notice, ok := deprecation.Check(flows, server)
		if !ok {
			fmt.Println(server, "nothing to say")
			continue
		}
		fmt.Println(server, notice)
	}
	// Output:
	// 1.28 nothing to say
	// 1.30 flowcontrol.apiserver.k8s.io/v1beta3 is deprecated since 1.29, to be removed in 1.32; use v1
	// 1.32 flowcontrol.apiserver.k8s.io/v1beta3 is deprecated since 1.29, removed in 1.32; use v1
}

// Fields can be deprecated at versions that are not.
func ExampleFields() {
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "web"},
		"spec":     map[string]any{"type": "LoadBalancer", "loadBalancerIP": "192.0.2.1"},
	}}
	for _, notice := range deprecation.Fields(service, deprecation.Release{Major: 1, Minor: 36}) {
		fmt.Println(notice)
	}
	// Output:
	// .spec.loadBalancerIP is deprecated since 1.24; use the annotations of the load balancer's provider
}

// A webhook reports only the fields that an update adds.
func ExampleNewFields() {
	service := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "spec": spec}}
	}
	old := service(map[string]any{"loadBalancerIP": "192.0.2.1"})
	updated := service(map[string]any{"loadBalancerIP": "192.0.2.2", "trafficDistribution": "PreferClose"})
	for _, notice := range deprecation.NewFields(old, updated, deprecation.Release{Major: 1, Minor: 36}) {
		fmt.Println(notice)
	}
	// Output: .spec.trafficDistribution: PreferClose is deprecated since 1.34; use PreferSameZone
}

// CRDs deprecate versions of custom resources.
func ExampleDefinition_Notices() {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "helmrepositories.source.toolkit.fluxcd.io"},
		"spec": map[string]any{
			"group": "source.toolkit.fluxcd.io",
			"versions": []any{
				map[string]any{"name": "v1beta2", "served": true, "deprecated": true},
				map[string]any{"name": "v1", "served": true},
			},
		},
		"status": map[string]any{"acceptedNames": map[string]any{"kind": "HelmRepository"}},
	}}
	for version, notice := range deprecation.ParseDefinition(crd).Notices() {
		fmt.Println(version+":", notice)
	}
	// Output: v1beta2: source.toolkit.fluxcd.io/v1beta2 is deprecated; use v1
}
