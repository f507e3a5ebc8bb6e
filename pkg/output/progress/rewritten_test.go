package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// A run reports the values that the cluster stores differently in one line, at its end, however many
// there are (edge case 15).
func TestRewrittenValuesShareALine(t *testing.T) {
	warned := func(name string, how event.Rewriting) event.Warned {
		ref := object.Ref{Name: name, Namespace: "shop"}
		ref.GVK.Kind = "ConfigMap"
		w := event.Warned{Ref: ref, Text: `.data.a is "x", not "y"`, Detail: ": something rewrites it", Rewriting: how}
		if how == event.RewrittenInEarnest {
			w.Detail += ", but not in dry runs"
		}
		return w
	}
	many := func(n int, how event.Rewriting) (all []event.Warned) {
		for i := range n {
			all = append(all, warned(fmt.Sprint("c-", i), how))
		}
		return all
	}
	const hint = "  hint: dry runs show the input's value, so diff reports an update in each run\n"
	tests := map[string]struct {
		verbose bool
		events  []event.Warned
		want    string
	}{
		"none": {want: ""},
		"one": {
			events: many(1, event.Rewritten),
			want:   `warning: configmap/c-0 -n shop: .data.a is "x", not "y": something rewrites it` + "\n",
		},
		"one twice, from a dry run and the write": {
			events: append(many(1, event.Rewritten), many(1, event.Rewritten)...),
			want:   `warning: configmap/c-0 -n shop: .data.a is "x", not "y": something rewrites it` + "\n",
		},
		"one in earnest": {
			events: many(1, event.RewrittenInEarnest),
			want:   `warning: configmap/c-0 -n shop: .data.a is "x", not "y": something rewrites it, but not in dry runs` + "\n" + hint,
		},
		"some": {
			events: many(3, event.Rewritten),
			want: `warning: the cluster stores 3 values of the input differently (3 objects): configmap/c-0 -n shop: .data.a is "x", not "y"; ` +
				`configmap/c-1 -n shop: .data.a is "x", not "y"; configmap/c-2 -n shop: .data.a is "x", not "y"` + "\n",
		},
		"many, one of them in earnest": {
			events: append(many(5, event.Rewritten), warned("z", event.RewrittenInEarnest)),
			want: `warning: the cluster stores 6 values of the input differently (6 objects): configmap/c-0 -n shop: .data.a is "x", not "y"; ` +
				`configmap/c-1 -n shop: .data.a is "x", not "y"; configmap/c-2 -n shop: .data.a is "x", not "y"; and 3 more (-v 1 lists each)` + "\n" + hint,
		},
		"each": {
			verbose: true,
			events:  many(2, event.Rewritten),
			want: `warning: configmap/c-0 -n shop: .data.a is "x", not "y": something rewrites it` + "\n" +
				`warning: configmap/c-1 -n shop: .data.a is "x", not "y": something rewrites it` + "\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			c := New(output.NewBase(
				output.Options{Out: &out, Err: &out, Now: time.Now, Verbose: tt.verbose},
				output.NewState(output.Word{}, false),
			))
			for _, w := range tt.events {
				c.Handle(w)
			}
			if c.Flush(); out.Len() > 0 {
				t.Errorf("reported before the end of the run: %s", &out)
			}
			if c.End(); out.String() != tt.want {
				t.Errorf("got\n%swant\n%s", &out, tt.want)
			}
		})
	}
}
