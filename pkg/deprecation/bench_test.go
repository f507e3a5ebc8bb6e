package deprecation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// The cost of a review of a Deployment with five containers and ten volumes.
func BenchmarkFields(b *testing.B) {
	var containers, volumes strings.Builder
	for i := range 5 {
		fmt.Fprintf(&containers, "{name: c%d, image: app, securityContext: {runAsNonRoot: true}},", i)
	}
	for i := range 10 {
		fmt.Fprintf(&volumes, "{name: v%d, configMap: {name: c}},", i)
	}
	u := parse(b, `{apiVersion: apps/v1, kind: Deployment, spec: {template: {metadata: {annotations: {a: b}}, spec: {containers: [`+
		containers.String()+`], volumes: [`+volumes.String()+`], nodeSelector: {kubernetes.io/os: linux}}}}}`)
	server := release(b, "1.36")
	b.ReportAllocs()
	for b.Loop() {
		if got := deprecation.Fields(u, server); got != nil {
			b.Fatal(got)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	kind, server := gvk("storage.k8s.io/v1beta1 VolumeAttributesClass"), release(b, "1.36")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := deprecation.Check(kind, server); !ok {
			b.Fatal("not deprecated")
		}
	}
}
