package condition

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A trimmed object has the same verdict as the whole one.
func TestTrimKeepsVerdict(t *testing.T) {
	errorTexts := cmp.Transformer("Error", func(err error) string { return fmt.Sprint(err) })
	for _, text := range []string{
		"self.status.readyReplicas == self.spec.replicas",
		"has(self.status.updatedReplicas)",
		"has(self.spec.template.spec.affinity.nodeAffinity)",
		"self.metadata.labels['app'] == 'web' && self.metadata.labels['app.kubernetes.io/name'] == 'x'",
		"size(self.metadata.labels) == 2",
		"self.spec.template.spec.containers.exists(c, c.image == 'x')",
		"self.metadata.labels.exists(self, self == 'app')",
		"self == self",
		"self.status.?updatedReplicas.orValue(0) == 0",
		"self.spec.strategy == {}",
		"self.metadata.__namespace__ == 'prod'",
		"1 / (self.spec.replicas - 3) == 1",
		"jsonpath={.status.readyReplicas}=3",
		"jsonpath={.spec.template.spec.containers[0].image}=x",
		"jsonpath={.spec.template.spec.containers[*].image}=x",
		"jsonpath={..image}=x",
		"condition=Available", "ready", "create", "delete",
	} {
		t.Run(text, func(t *testing.T) {
			c, obj := compiled(t, deployment(), nil, text), objectOf(t, shop)
			want, got := c.Evaluate(t.Context(), obj), c.Evaluate(t.Context(), Trim(obj, c))
			if diff := cmp.Diff(want, got, errorTexts, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if Trim(nil, c) != nil {
				t.Error("Trim(nil) is not nil")
			}
		})
	}
}

// Edge case 46: one condition may be evaluated on many objects concurrently. Each verdict depends
// only on its own object, and evaluation changes no object.
func TestConcurrent(t *testing.T) {
	for _, text := range []string{
		"self.status.readyReplicas == self.spec.replicas && self.status.conditions.all(c, c.status == 'True')",
		`jsonpath={.status.conditions[?(@.type=="Available")].status}=False`, "condition=Available=False", "ready",
	} {
		t.Run(text, func(t *testing.T) {
			c, obj := compiled(t, deployment(), publishedSchema(t, deployment()), text), objectOf(t, shop)
			want := c.Evaluate(t.Context(), obj)
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					for range 50 {
						if got := c.Evaluate(t.Context(), obj); !reflect.DeepEqual(got, want) {
							t.Errorf("got %+v, want %+v", got, want)
						}
					}
				})
			}
			group.Wait()
			if diff := cmp.Diff(objectOf(t, shop), obj); diff != "" {
				t.Errorf("the object has changed: %s", diff)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	s, specs := publishedSchema(b, deployment()), []Spec{must(b, "self.status.readyReplicas == self.spec.replicas")}
	for b.Loop() {
		if _, err := Compile(deployment(), s, specs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	obj, s := objectOf(b, shop), publishedSchema(b, deployment())
	for _, text := range []string{
		"self.status.replicas == self.spec.replicas", "self.status.readyReplicas == self.spec.replicas",
		"self.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')",
		"jsonpath={.status.readyReplicas}=2", "condition=Available", "ready",
	} {
		c := compiled(b, deployment(), s, text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Evaluate(b.Context(), obj)
			}
		})
	}
}
