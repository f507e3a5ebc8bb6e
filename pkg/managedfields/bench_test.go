package managedfields_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func BenchmarkEntries(b *testing.B) {
	live, _ := fieldstest.Deployment(3, 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := managedfields.Entries(live); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEntriesOf decodes entries as the webhook does for each write that changes owners.
func BenchmarkEntriesOf(b *testing.B) {
	for size, containers := range map[string]int{"typical": 1, "large": 50} {
		live, _ := fieldstest.Deployment(containers, 20)
		fields := live.GetManagedFields()
		b.Run(size, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := managedfields.EntriesOf(fields); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkProject(b *testing.B) {
	live, _ := fieldstest.Deployment(3, 20)
	all, err := managedfields.Entries(live)
	if err != nil {
		b.Fatal(err)
	}
	set := managedfields.Managed(all, fieldstest.Us)
	b.ReportAllocs()
	for b.Loop() {
		managedfields.Project(live.Object, set)
	}
}
