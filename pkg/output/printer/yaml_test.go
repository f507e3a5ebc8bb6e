package printer_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// hostile contains both harmless characters and characters that a terminal must not receive.
func hostile(random *rand.Rand) string {
	parts := []string{"\x1b[2J", "\u009b31m", "\u202e", "\u0085", "\u2028", "\x07", "\x00", "\u200b", "\U000e0041", "\x7f", "\r", "a", " ", "\n", "\t", `"`, "'", ": ", "# ", "日本", "|", "-"}
	var b strings.Builder
	for range 1 + random.IntN(8) {
		b.WriteString(parts[random.IntN(len(parts))])
	}
	return b.String()
}

// objects is the number of random objects that a test prints.
func objects() int {
	if testing.Short() {
		return 75
	}
	return 300
}

// Printed YAML is safe for a terminal and loses nothing: reading it gives every character of the
// original.
func TestYAMLIsEscapedAndComplete(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 1))
	for range objects() {
		object := map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "prod"},
			"data":  map[string]any{hostile(random): hostile(random), "list": []any{hostile(random), int64(7), map[string]any{"k": hostile(random)}, []any{}}},
			"large": int64(1 << 60), "share": 0.25, "none": nil, "yes": true,
		}
		met := event.Waited{Ref: config("a"), Action: event.Met, Object: &unstructured.Unstructured{Object: object}}
		var want map[string]any
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{output.YAML, output.KYAML} {
			got := run(t, printer.OfWait, output.Options{Format: format}, []event.Event{met}).out
			harmless(t, got)
			var back map[string]any
			if err := yaml.Unmarshal([]byte(got), &back); err != nil {
				t.Fatalf("%v:\n%s", err, got)
			}
			if !reflect.DeepEqual(want, back) {
				t.Errorf("%q does not survive a round trip through YAML:\n%s", object["data"], got)
			}
		}
		changed := event.Compared{Ref: config("a"), Action: event.Update, Reason: hostile(random), Changes: []managedfields.Change{
			{Path: fieldpath.Field("data", "a"), From: hostile(random), To: hostile(random), Kind: managedfields.Changed},
		}}
		harmless(t, run(t, printer.OfDiff, output.Options{Format: output.YAML}, []event.Event{changed}).out)
		harmless(t, run(t, printer.OfDiff, output.Options{Format: output.KYAML}, []event.Event{changed}).out)
	}
}

// The output of a template is escaped on a terminal, and unchanged for a script.
func TestJSONPathOnATerminal(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 2))
	for range objects() {
		value := "v" + hostile(random) + "v"
		object := map[string]any{"data": map[string]any{"k": value}}
		met := []event.Event{event.Waited{Ref: config("a"), Action: event.Met, Object: &unstructured.Unstructured{Object: object}}}
		o := output.Options{Format: "jsonpath={.data.k}"}
		if got := run(t, printer.OfWait, o, met).out; got != value+"\n" {
			t.Errorf("without a terminal, got %q, want %q", got, value)
		}
		o.Width = columns(80)
		harmless(t, run(t, printer.OfWait, o, met).out)
	}
}
