package printer_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// The end of a container's log follows the cause that names the container, in every
// format.
func TestCauseWithLog(t *testing.T) {
	cause := event.Cause{Code: "ContainerCrash", Message: "container app ends", Log: []string{"opening /data", "DBPathInUse: \x1b[31mlocked"}}
	web := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	for format, want := range map[string]string{
		output.Table:  "      log      opening /data\n               DBPathInUse: \\x1b[31mlocked\n",
		output.JSON:   `"log": [`,
		output.Stream: `"log":["opening /data",`,
	} {
		var out, notes strings.Builder
		p, err := printer.ForWait(output.Options{Out: &out, Err: &notes, Format: format})
		if err != nil {
			t.Fatal(err)
		}
		p.Print(event.Planned{Phases: []event.Phase{{Total: 1, Refs: []object.Ref{web}}}})
		p.Print(event.Stalled{Ref: web, Causes: []event.Cause{cause}})
		p.Print(event.Waited{Ref: web, Action: event.TimedOut, Causes: []event.Cause{cause}})
		if err := p.Close(t.Context()); err != nil && format != output.Table {
			t.Log(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", format, &out)
		}
		if text := notes.String(); !strings.Contains(text, "no progress: deployment.apps/web -n shop") || !strings.Contains(text, "DBPathInUse") {
			t.Errorf("%s: stderr %s", format, text)
		}
		if format == output.Stream && !strings.Contains(out.String(), `"type":"stalled"`) {
			t.Errorf("no line of the stream says that it is stalled: %s", &out)
		}
	}
}
