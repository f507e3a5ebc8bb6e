package noop_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// BenchmarkJudge evaluates changed and unchanged Deployments: a typical one with ten variables, and
// a large one.
func BenchmarkJudge(b *testing.B) {
	for size, containers := range map[string]int{"typical": 1, "large": 5} {
		live, manifest := fieldstest.Deployment(containers, 10*containers)
		changed := manifest.DeepCopy()
		changed.SetLabels(map[string]string{"tier": "x"})
		for want, m := range map[noop.Verdict]*unstructured.Unstructured{settled: manifest, clearly: changed} {
			b.Run(size+"/"+want.String(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got, _ := noop.Evaluate(live, m, fieldstest.Us); got != want {
						b.Fatal(got)
					}
				}
			})
		}
	}
}
