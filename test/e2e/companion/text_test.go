package companion_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// birdsDefinition has an older version, and a map with arbitrary keys.
const birdsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: birds.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Bird, listKind: BirdList, plural: birds, singular: bird}
  versions:
  - {name: v1, served: true, storage: true, schema: &schema {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, additionalProperties: {type: string}}}}}}
  - {name: v1beta1, served: true, storage: false, deprecated: true, schema: *schema}
`

// birds creates the kind, and returns a namespace for its objects.
func (c *client) birds(t *testing.T, namespace string) {
	t.Helper()
	c.namespace(t, namespace)
	c.apply(t, definitions, birdsDefinition, "setup")
	eventually(t, "birds are served, and known to be deprecated", func() bool {
		o := fieldstest.Read(t, "{apiVersion: example.com/v1beta1, kind: Bird, metadata: {name: probe, namespace: "+namespace+"}}")
		_, err := c.Resource(birds).Namespace(namespace).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(strings.Join(c.reported(), "\n"), "Bird/"+namespace+"/probe")
	})
}

// Edge case 74: writers choose names. A newline in one would suppress the warning, and an escape
// sequence would reach a terminal; neither happens. However many paths are taken, the warnings are
// few and short.
func TestWarningsAreSafeAndShort(t *testing.T) {
	c := newClient(t, "")
	c.birds(t, "texts")
	bird := func(name, value string, keys ...string) *unstructured.Unstructured {
		o := fieldstest.Read(t, "{apiVersion: example.com/v1beta1, kind: Bird, metadata: {namespace: texts, name: "+name+"}}")
		spec := map[string]any{}
		for _, key := range keys {
			spec[key] = value
		}
		o.Object["spec"] = spec
		return o
	}
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprint(strings.Repeat("long-", 40), i)
	}
	for name, keys := range map[string][]string{
		"newline": {"a\nb"},
		"escape":  {"\x1b[31mred\x1b[0m"},
		"right":   {"abc\u202edef"},
		"many":    many,
	} {
		t.Run(name, func(t *testing.T) {
			door := c.Resource(birds).Namespace("texts")
			for i, manager := range []string{strings.Repeat("argo-", 25), strings.Repeat("flux-", 25)} {
				c.reported()
				_, err := door.Apply(t.Context(), name, bird(name, fmt.Sprint(i), keys...), metav1.ApplyOptions{FieldManager: manager, Force: true})
				if err != nil {
					t.Fatal(err)
				}
			}
			taken := 0
			for _, text := range c.reported() {
				if strings.HasPrefix(text, "Bird/texts/"+name+": ") && strings.Contains(text, " taken from argo-") {
					taken++
				}
				if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || len(text) > 400 {
					t.Errorf("warning %q", text)
				}
			}
			if taken != 1 {
				t.Errorf("%d warnings of a takeover, want 1", taken)
			}
		})
	}
}

// Edge case 76: for an object with a generated name, the warning has that name. Deletions of one
// object or all objects, which have no new object, pass without a warning.
func TestWarningsForGeneratedNamesAndDeletions(t *testing.T) {
	c := newClient(t, "")
	c.birds(t, "nameless")
	door := c.Resource(birds).Namespace("nameless")
	var last string
	for range 3 {
		o, err := door.Create(t.Context(), fieldstest.Read(t, "{apiVersion: example.com/v1beta1, kind: Bird, metadata: {generateName: b-, namespace: nameless}}"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = o.GetName()
		want := "Bird/nameless/" + last + ": example.com/v1beta1 is deprecated; use v1"
		if reported := strings.Join(c.reported(), "\n"); !strings.Contains(reported, want) {
			t.Errorf("warnings are %q, want %q", reported, want)
		}
	}
	if err := door.Delete(t.Context(), last, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := door.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	for _, text := range c.reported() {
		if strings.Contains(text, "Bird/") {
			t.Errorf("a deletion caused the warning %q", text)
		}
	}
	if n, err := c.replica.Metric(t.Context(), "k8sconnect_admission_faults_total"); err != nil || n > 0 {
		t.Errorf("%g reviews were not understood (%v)", n, err)
	}
}
