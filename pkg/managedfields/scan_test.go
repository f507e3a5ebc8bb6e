package managedfields_test

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// fieldsV1 are field sets as they may come: as the API server writes them, and in
// all other ways.
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
		"a dot that is none": `{"f:a":{".":[1]}}`,
		"empty names":        `{"f:":{"f:":{}}}`,
		"numbers":            `{"k:{\"a\":1,\"b\":1.5}":{},"v:true":{},"i:-1":{}}`,
		"no colon":           `{"f":{}}`,
		"no key":             `{"k:{":{}}`,
		"a list":             `[]`,
		"a list inside":      `{"f:a":[]}`,
		"null inside":        `{"f:a":null}`,
		"a number":           `5`,
		"not all of it":      `{"f:a":{}`,
		"half a key":         `{"f:a`,
		"half an escape":     `{"f:a\`,
		"half a dot":         `{".":{`,
		"more than one":      `{}{}`,
		"a comma too many":   `{"f:a":{},}`,
		"a comma too few":    `{"f:a":{}"f:b":{}}`,
		"no quotes":          `{f:a:{}}`,
		"a newline in a key": "{\"f:a\nb\":{}}",
		"empty":              ``,
	}
}

// checkSameSet fails unless a field set means the same to typed and to untyped
// clients: the two read it each in its own way.
func checkSameSet(t *testing.T, text string) {
	t.Helper()
	typed, err := managedfields.EntriesOf([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(text)}})
	var tree any
	if json.Unmarshal([]byte(text), &tree) != nil {
		if err == nil {
			t.Fatalf("%s is no JSON, and was read", text)
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

func TestScanFields(t *testing.T) {
	for name, text := range fieldsV1() {
		t.Run(name, func(t *testing.T) { checkSameSet(t, text) })
	}
}

// A set that is nested too deeply is an error; the process does not end for it.
func TestScanDepth(t *testing.T) {
	text := strings.Repeat(`{"f:a":`, 2_000_000) + strings.Repeat(`}`, 2_000_000)
	_, err := managedfields.EntriesOf([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(text)}})
	if err == nil {
		t.Error("it was read")
	}
}

func FuzzScanFields(f *testing.F) {
	for _, text := range fieldsV1() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var tree any
		if json.Unmarshal([]byte(text), &tree) == nil {
			again, err := json.Marshal(tree) // Of a key that comes twice, one is left.
			if err != nil {
				t.Fatal(err)
			}
			text = string(again)
		}
		checkSameSet(t, text)
	})
}
