package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// An object can have several causes. Each cause is printed in full once; an object is reported again
// exactly if it has a cause that was not reported for it, whichever of its causes that is.
func TestSeveralCausesDuringAWait(t *testing.T) {
	ref := func(name string) object.Ref {
		r := object.Ref{Name: name, Namespace: "shop"}
		r.GVK.Kind = "Service"
		return r
	}
	causes := map[string]event.Cause{
		"image":  {Code: "ImagePull", Message: "app:1 does not exist"},
		"image2": {Code: "ImagePull", Message: "app:2 does not exist"},
		"node":   {Code: "Unschedulable", Message: "2 Pods: no node fits"},
		"node1":  {Code: "Unschedulable", Message: "1 Pod: no node fits"},
		"secret": {Code: "SecretMissing", Message: "key", BlockedBy: ref("key")},
		"doubt":  {Code: "NotAllowed", Message: "pods are unknown", Doubt: true},
	}
	const (
		image  = "    ImagePull: app:1 does not exist\n"
		node   = "    Unschedulable: 2 Pods: no node fits\n"
		secret = "    SecretMissing: key\n"
	)
	head := func(name string) string { return "no progress: service/" + name + " -n shop" }
	tests := map[string]struct {
		steps []string // OBJECT: CAUSE CAUSE…
		want  []string // what each step prints
	}{
		"the second cause changes": {
			[]string{"a: image node", "a: image secret"},
			[]string{head("a") + "\n" + image + node, head("a") + "\n    ImagePull: see above\n" + secret},
		},
		"the first cause changes": {
			[]string{"a: image node", "a: secret node"},
			[]string{head("a") + "\n" + image + node, head("a") + "\n" + secret + "    Unschedulable: see above\n"},
		},
		"the first cause changes its message": {
			[]string{"a: image", "a: image2"},
			[]string{head("a") + "\n" + image, head("a") + "\n    ImagePull: app:2 does not exist\n"},
		},
		"a cause goes away":           {[]string{"a: image node", "a: image", "a: node"}, []string{head("a") + "\n" + image + node, "", ""}},
		"a cause comes back":          {[]string{"a: image", "a: node", "a: image"}, []string{head("a") + "\n" + image, head("a") + "\n" + node, ""}},
		"the same in another order":   {[]string{"a: image node", "a: node image"}, []string{head("a") + "\n" + image + node, ""}},
		"other numbers":               {[]string{"a: node", "a: node1"}, []string{head("a") + "\n" + node, ""}},
		"two objects share all":       {[]string{"a: image node", "b: node image"}, []string{head("a") + "\n" + image + node, head("b") + ", for the same reason\n"}},
		"two objects share the first": {[]string{"a: image node", "b: image secret"}, []string{head("a") + "\n" + image + node, head("b") + "\n    ImagePull: see above\n" + secret}},
		"one shares with two": {
			[]string{"a: image", "b: node", "c: image node"},
			[]string{head("a") + "\n" + image, head("b") + "\n" + node, head("c") + "\n    ImagePull: see above\n    Unschedulable: see above\n"},
		},
		"many share, and one has another beside it": {
			[]string{"a: image", "b: image", "c: image", "d: image", "e: image", "f: image node"},
			[]string{
				head("a") + "\n" + image, head("b") + ", for the same reason\n", head("c") + ", for the same reason\n",
				"more objects are making no progress for the same reason\n", "", head("f") + "\n    ImagePull: see above\n" + node,
			},
		},
		"a doubt does not tell objects apart": {[]string{"a: image doubt", "b: image"}, []string{head("a") + "\n" + image + "    NotAllowed: pods are unknown\n", head("b") + ", for the same reason\n"}},
		"no cause":                            {[]string{"a:", "b:"}, []string{head("a") + "\n    no cause was found\n", head("b") + ", for the same reason\n"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			c := New(output.NewBase(
				output.Options{Out: &out, Err: &out, Now: time.Now},
				output.NewState(output.Word{}, false),
			))
			var got []string
			for _, step := range tt.steps {
				of, list, _ := strings.Cut(step, ":")
				e := event.Stalled{Ref: ref(of)}
				for cause := range strings.FieldsSeq(list) {
					e.Causes = append(e.Causes, causes[cause])
				}
				out.Reset()
				c.Handle(e)
				got = append(got, out.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
