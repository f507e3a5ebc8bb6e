package owners

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// All unreadable kinds are reported in one line, with their number and the first few for each
// reason.
func TestUnreadError(t *testing.T) {
	forbidden := func(kind string) event.Unread {
		return event.Unread{
			Ref: object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}},
			Err: apierrors.NewForbidden(schema.GroupResource{Resource: strings.ToLower(kind)}, "", errors.New("no")),
		}
	}
	var many []event.Unread
	for i := range 45 {
		many = append(many, forbidden(fmt.Sprintf("Kind%d", i)))
	}
	pod := event.Unread{Ref: object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "a", Name: "b"}, Err: errors.New("gone")}
	named := make([]event.Unread, 6)
	for i := range named {
		named[i] = pod
	}
	for name, test := range map[string]struct {
		unread []event.Unread
		want   string
		hint   string
		// verbose is -v 1.
		verbose bool
	}{
		"kinds, each": {
			unread: many[:7], hint: "the verb list", verbose: true,
			want: "could not be read: 7 kinds (Forbidden): kind0, kind1, kind2, kind3, kind4, kind5, kind6",
		},
		"a few": {
			unread: []event.Unread{forbidden("Secret"), pod, forbidden("Node")}, hint: "the verb list",
			want: "could not be read: secret, node (Forbidden); pod/b -n a (gone)",
		},
		"kinds": {
			unread: append(many, pod), hint: "the verb list",
			want: "could not be read: 45 kinds (Forbidden): kind0, kind1, kind2, kind3, kind4 and 40 more; pod/b -n a (gone)",
		},
		"no answer from a server": {
			unread: []event.Unread{pod, {Ref: pod.Ref, Err: fmt.Errorf("b: %w", transport.NoAnswer(transport.Wrong("it is null, not a list")))}},
			want:   "could not be read: pod/b -n a (gone); pod/b -n a (b: the API server is reachable, but did not answer this request: unexpected answer: it is null, not a list)",
			hint:   "a proxy",
		},
		"objects": {
			unread: named,
			want:   "could not be read: 6 objects (gone): " + strings.Repeat("pod/b -n a, ", 4) + "pod/b -n a and 1 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := unreadOf(test.unread, test.verbose)
			if err.Error() != test.want {
				t.Errorf("%s\nwant %s", err, test.want)
			}
			if hint := object.HintOf(err); (hint != "") != (test.hint != "") || !strings.Contains(hint, test.hint) {
				t.Errorf("hint %q, want %q", hint, test.hint)
			}
		})
	}
}

func TestUnexpectedManagersInOneLine(t *testing.T) {
	held := func(managers ...string) (all []event.ObjectHolding) {
		for _, m := range managers {
			all = append(all, event.ObjectHolding{Manager: m, Ref: object.Ref{Name: m}})
		}
		return all
	}
	if got := unexpected(nil); got != "" {
		t.Error(got)
	}
	if got, want := unexpected(held("b", "a", "b")), "unexpected owners in 2 objects: a, b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := unexpected(held("f", "e", "d", "c", "b", "a")), "unexpected owners in 6 objects: a, b, c, d, e and 1 more"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
