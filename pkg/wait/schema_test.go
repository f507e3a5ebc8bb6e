package wait

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// The server may serve a kind seconds before it publishes the kind's schema (edge case 18). The
// schema is then used in the running wait, so the result does not depend on when the wait began.
func TestSchemaPublishedDuringWait(t *testing.T) {
	pools := object.Kind{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Pool"}, Resource: "pools", Namespaced: true}
	str := spec.StringProperty()
	fields := func(names ...string) *spec.Schema {
		s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{}}}
		for _, name := range names {
			s.Properties[name] = spec.Schema{SchemaProps: spec.SchemaProps{
				Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{"size": *str},
			}}
		}
		return s
	}
	for name, test := range map[string]struct {
		goal      string
		published *spec.Schema
		result    string
		says      string
	}{
		"a kind without a status is ready":  {"ready", fields("spec"), "met", ""},
		"a kind with a status is not ready": {"ready", fields("spec", "status"), "timeout", ""},
		"a misspelled field is reported":    {"self.spec.sise == '10Gi'", fields("spec"), "unknown", "sise"},
		"a known field may still be set":    {"self.spec.size == '10Gi'", fields("spec"), "timeout", ""},
	} {
		for when, kind := range map[string]object.Kind{"served": pools, "served later": {GVK: pools.GVK, Namespaced: true}} {
			t.Run(name+", "+when, func(t *testing.T) {
				pool := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "5Gi"}}}
				pool.SetGroupVersionKind(pools.GVK)
				pool.SetNamespace("prod")
				pool.SetName("a")
				w := newWorld(pool)
				w.served = &pools
				got := w.wait(t, Engine{Timeout: time.Minute}, []Target{{
					Selection: object.Selection{Namespace: "prod", Name: "a"}, Kind: kind, Type: "pools.example.com", Goal: goal(t, test.goal),
				}}, func() {
					time.Sleep(5 * time.Second)
					w.publish(test.published)
				})
				said := ""
				for _, e := range got.Events {
					if e, ok := e.(event.Waited); ok && e.Err != nil {
						said = e.Err.Error()
					}
				}
				if got.Results["a"] != test.result || (test.result == "met") != (got.Err == nil) || !strings.Contains(said, test.says) {
					t.Errorf("%v after %s, %v: %s", got.Results, got.After, got.Err, said)
				}
				if test.result != "timeout" && (got.After < 5*time.Second || got.After > 15*time.Second) {
					t.Errorf("the wait ended after %s, want soon after the schema was published at 5s", got.After)
				}
				if w.asked > 12 {
					t.Errorf("%d requests for the schema", w.asked)
				}
			})
		}
	}
}
