package printer

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// The output says that no owner has to be rewritten only if everything could be read.
func TestMigrationReportsUnreadObjects(t *testing.T) {
	const none = "all fields are owned at versions that the server serves"
	unread := []event.Unread{{Ref: object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Gear"}}, Err: errors.New("forbidden")}}
	for name, tt := range map[string]struct {
		end         []event.Event
		table, json string
	}{
		"everything was read":     {[]event.Event{event.MigrationEnded{}}, none + "\n", `"objects": []`},
		"not everything was read": {[]event.Event{event.MigrationEnded{Unread: unread}}, "0 owners rewritten, 1 not read\n", `"message": "forbidden"`},
		"interrupted":             {nil, "", ""},
	} {
		for format, want := range map[string]string{output.Table: tt.table, output.JSON: tt.json} {
			var out bytes.Buffer
			p, err := For(OfMigration, output.Options{Format: format, Out: &out, Err: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			p.Print(event.Planned{})
			for _, e := range tt.end {
				p.Print(e)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); format == output.Table && got != want || !strings.Contains(got, want) {
				t.Errorf("%s, %s: %q, want %q", name, format, got, want)
			}
		}
	}
}
