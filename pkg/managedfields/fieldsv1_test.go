package managedfields_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// fieldsV1 lists field sets in the form that the API server writes, and in all other valid forms.
func fieldsV1() map[string]string {
	return map[string]string{
		"nothing":            `{}`,
		"null":               `null`,
		"as written":         `{"f:a":{".":{},"f:b":{},"k:{\"name\":\"x\"}":{".":{},"f:c":{}}},"v:\"x\"":{},"i:0":{}}`,
		"with spaces":        " {\n\t\"f:a\" : { \".\" : {} , \"f:b\" : { } } }\r\n",
		"in another order":   `{"f:b":{},"f:a":{"f:d":{},"f:c":{}}}`,
		"escapes":            `{"f:\u0061":{},"f:a\\b":{},"f:\n":{},"k:{\"a\":\"\\\"\"}":{}}`,
		"beyond ASCII":       `{"f:ä":{},"f:\ud83d\ude00":{}}`,
		"unknown":            `{"x:?":{"f:a":[1,{"b":"}"}]},"f:a":{"x:?":5}}`,
		"a field named dot":  `{"f:a":{".":[1]}}`,
		"empty names":        `{"f:":{"f:":{}}}`,
		"numbers":            `{"k:{\"a\":1,\"b\":1.5}":{},"v:true":{},"i:-1":{}}`,
		"no colon":           `{"f":{}}`,
		"no key":             `{"k:{":{}}`,
		"a list":             `[]`,
		"a list inside":      `{"f:a":[]}`,
		"null inside":        `{"f:a":null}`,
		"a number":           `5`,
		"truncated":          `{"f:a":{}`,
		"half a key":         `{"f:a`,
		"half an escape":     `{"f:a\`,
		"half a dot":         `{".":{`,
		"more than one":      `{}{}`,
		"an extra comma":     `{"f:a":{},}`,
		"a missing comma":    `{"f:a":{}"f:b":{}}`,
		"no quotes":          `{f:a:{}}`,
		"a newline in a key": "{\"f:a\nb\":{}}",
		"empty":              ``,
	}
}

// checkSameSet fails unless the decoders of typed and of untyped clients decode a field set to the
// same value.
func checkSameSet(t *testing.T, text string) {
	t.Helper()
	typed, err := managedfields.EntriesOf([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(text)}})
	var tree any
	if json.Unmarshal([]byte(text), &tree) != nil {
		if err == nil {
			t.Fatalf("%s is not JSON, but decoding succeeded", text)
		}
		return
	}
	untyped, errUntyped := managedfields.Entries(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"managedFields": []any{map[string]any{"manager": "m", "fieldsType": "FieldsV1", "fieldsV1": tree}},
	}}})
	if (err != nil) != (errUntyped != nil) {
		t.Fatalf("%s: typed %v, untyped %v", text, err, errUntyped)
	}
	if err == nil && !typed[0].Fields.Equals(untyped[0].Fields) {
		t.Fatalf("%s: typed\n%s\nuntyped\n%s", text, typed[0].Fields, untyped[0].Fields)
	}
}

// Both decoders decode random sets to the original.
func TestFieldSetsAreReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "", ".", "ä", "a.b/c", `"q"`, "\n\\", "k:{", "0"}
	name := func() string { return names[r.IntN(len(names))] }
	scalar := func() any { return []any{name(), int64(r.IntN(3)), 1.5, r.IntN(2) == 0, nil}[r.IntN(5)] }
	element := func() fieldpath.Element {
		switch r.IntN(6) {
		case 0:
			return smd.KeyElementByFields("x", scalar(), "y"+name(), scalar())
		case 1:
			return smd.KeyElementByFields(name(), name())
		case 2:
			return smd.ValueElement(value.NewValueInterface(scalar()))
		case 3:
			return smd.IndexElement(r.IntN(3))
		default:
			return fieldpath.FieldElement(name())
		}
	}
	for range 2000 {
		want := fieldpath.NewSet()
		for range r.IntN(12) {
			path := fieldpath.Path{element()}
			for r.IntN(3) > 0 {
				path = append(path, element())
			}
			fieldpath.Insert(want, path)
		}
		text, err := want.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		checkSameSet(t, string(text))
		got, err := managedfields.EntriesOf([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(text))}})
		if err != nil || !got[0].Fields.Equals(want) {
			t.Fatalf("%s: %v, %v", text, got, err)
		}
	}
}

func TestFieldsV1(t *testing.T) {
	for name, text := range fieldsV1() {
		t.Run(name, func(t *testing.T) { checkSameSet(t, text) })
	}
}

// A field set that is nested too deeply is an error. It does not crash the process.
func TestFieldsV1Depth(t *testing.T) {
	text := strings.Repeat(`{"f:a":`, 2_000_000) + strings.Repeat(`}`, 2_000_000)
	_, err := managedfields.EntriesOf([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(text)}})
	if err == nil {
		t.Error("no error for a field set that is nested too deeply")
	}
}

func FuzzFieldsV1(f *testing.F) {
	for _, text := range fieldsV1() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var tree any
		if json.Unmarshal([]byte(text), &tree) == nil {
			again, err := json.Marshal(tree) // If a key occurs twice, one remains.
			if err != nil {
				t.Fatal(err)
			}
			text = string(again)
		}
		checkSameSet(t, text)
	})
}
