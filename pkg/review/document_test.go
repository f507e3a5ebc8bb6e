package review

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// The digest of an object whose document masks more than the digest does cannot be recomputed. Nevertheless
// the content of such an object cannot be edited: a run that only has to create it again compares nothing else.
func TestContentIsBound(t *testing.T) {
	p := planOf(event.Compared{
		Ref: refTo("Job", "j"), Action: event.Recreate, UID: "1", After: map[string]any{"spec": map[string]any{"image": "a"}},
		Changes: []managedfields.Change{{Path: fieldpath.Field("spec", "url"), Kind: managedfields.Changed, From: "x", To: "hunter2"}},
	})
	reviewed := p.Reviewed("")
	text, err := json.Marshal(map[string]any{
		"kind": "DiffResult", "digest": reviewed.Digest, "summary": map[string]int{"recreated": 1}, "objects": []any{map[string]any{
			"apiVersion": "v1", "kind": "Job", "namespace": "shop", "name": "j", "action": "recreated", "uid": "1",
			"digest": reviewed.Objects[0].Digest, "content": reviewed.Objects[0].Content,
			"changes": []any{map[string]any{"path": ".spec.url", "change": "changed", "from": "x", "to": redact.Mask}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from, to string
		is       bool
	}{
		"as printed":      {"", "", true},
		"another content": {reviewed.Objects[0].Content, strings.Repeat("0", 2*size), false},
		"no content":      {`"content":"` + reviewed.Objects[0].Content + `",`, "", false},
	} {
		read, err := Read([]byte(strings.Replace(string(text), tt.from, tt.to, 1)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := read.Is(); got != tt.is {
			t.Errorf("%s: Is() = %t", name, got)
		}
	}
}

// The summary of a plan counts each of its objects.
func TestSummaryIsWhole(t *testing.T) {
	object := func(name, action string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "name": name, "action": action}
	}
	for name, tt := range map[string]struct {
		summary map[string]int
		ok      bool
	}{
		"all counts":    {map[string]int{"unchanged": 2, "kept": 1, "created": 0}, true},
		"a count fewer": {map[string]int{"unchanged": 2}, false},
		"another count": {map[string]int{"unchanged": 1, "kept": 1}, false},
		"a new count":   {map[string]int{"unchanged": 2, "kept": 1, "pruned": 1}, false},
		"no summary":    {nil, true},
	} {
		text, err := json.Marshal(map[string]any{
			"kind": "DiffResult", "digest": planOf().Digest(""), "summary": tt.summary,
			"objects": []any{object("a", "unchanged"), object("b", "unchanged"), object("c", "kept")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(text); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
