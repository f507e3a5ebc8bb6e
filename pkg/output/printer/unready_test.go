package printer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func unready() event.Unready {
	cause := event.Cause{Code: "Unschedulable", Message: "fits none of 3 nodes", Evidence: []string{"nodeSelector disktype=ssd"}, Next: "kubectl get nodes -L disktype"}
	u := event.Unready{Objects: 5400, Kinds: 30, Terminating: 2, Stuck: "kubectl k8sconnect stuck -A", Roots: []event.Rooted{{Cause: cause}}}
	found := func(kind, name string, causes ...event.Cause) object.Ref {
		of := ref("apps/v1", kind, "shop", name)
		u.Found = append(u.Found, event.UnreadyObject{Ref: of, Reason: "InProgress", Message: "0 of 3 replicas are ready", Causes: causes})
		return of
	}
	for i := range 5 {
		u.Roots[0].Holds = append(u.Roots[0].Holds, found("Deployment", fmt.Sprintf("web-%d", i), cause))
	}
	u.Roots[0].Holds = append(u.Roots[0].Holds, found("StatefulSet", "db", cause))
	missing := event.Cause{Code: "ConfigMapMissing", Message: "needs ConfigMap app, which does not exist"}
	u.Roots = append(u.Roots, event.Rooted{Cause: missing, Holds: []object.Ref{found("Deployment", "api", missing)}})
	found("Deployment", "riddle")
	for _, name := range []string{"a", "b", "c"} {
		u.Remarks = append(u.Remarks, event.Remarked{Ref: ref("networking.k8s.io/v1", "Ingress", "shop", name), Code: "ServiceMissing", Text: "needs Service x", Hint: "see kubectl get services -n shop"})
	}
	return u
}

// Objects that wait for the same reason share one block, and so do remarks that differ only in the
// object.
func TestUnreadyTable(t *testing.T) {
	const want = `5 Deployments, 1 StatefulSet not ready, for the same reason
    Unschedulable: fits none of 3 nodes
      nodeSelector disktype=ssd
      next     kubectl get nodes -L disktype
  deployment.apps/web-0 -n shop
  deployment.apps/web-1 -n shop
  deployment.apps/web-2 -n shop
  deployment.apps/web-3 -n shop
  and 2 more objects (-v 1 shows each)
deployment.apps/api -n shop: 0 of 3 replicas are ready
    ConfigMapMissing: needs ConfigMap app, which does not exist
deployment.apps/riddle -n shop: 0 of 3 replicas are ready
ingress.networking.k8s.io/a -n shop: needs Service x
    see kubectl get services -n shop
    the same for 2 Ingresses
      ingress.networking.k8s.io/b -n shop
      ingress.networking.k8s.io/c -n shop
8 of 5400 objects not ready, 2 causes, 3 remarks
2 objects being deleted; if they do not go away: kubectl k8sconnect stuck -A
`
	got := run(t, printer.ForUnready, output.Options{Width: columns(80)}, []event.Event{unready()}).out
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	each := run(t, printer.ForUnready, output.Options{Verbose: true}, []event.Event{unready()}).out
	if n := strings.Count(each, "Unschedulable: "); n != 6 || strings.Contains(each, "the same") {
		t.Errorf("with -v 1, %d objects have the cause:\n%s", n, each)
	}
}

func TestUnreadySummary(t *testing.T) {
	unread := []event.Unread{{Ref: ref("v1", "Pod", "", ""), Err: errors.New("no")}}
	for want, u := range map[string]event.Unready{
		"141 objects: all ready\n":                         {Objects: 141},
		"in namespace shop: no objects\n":                  {Namespace: "shop"},
		"none of 141 objects not ready, 1 kind not read\n": {Objects: 141, Unread: unread},
		"in namespace shop: 1 object: all ready\n1 object being deleted; if they do not go away: kubectl k8sconnect stuck -n shop\n": {Objects: 1, Namespace: "shop", Terminating: 1, Stuck: "kubectl k8sconnect stuck -n shop"},
	} {
		if got := run(t, printer.ForUnready, output.Options{}, []event.Event{u}).out; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Machine formats name every object.
func TestUnreadyFormats(t *testing.T) {
	for format, wanted := range map[string][]string{
		output.JSON:     {`"kind": "UnreadyResult"`, `"read": 5400`, `"unready": 8`, `"terminating": 2`, `"count": 6`, `"name": "db"`, `"code": "ServiceMissing"`, `"reason": "InProgress"`},
		output.Name:     {"statefulset.apps/db\n", "deployment.apps/riddle\n"},
		output.JUnit:    {`tests="11" failures="8"`, `name="statefulset.apps/db -n shop"`},
		output.Markdown: {"| Not ready | Cause | Next |", "and 1 more", "Unschedulable: fits none of 3 nodes", "- ingress.networking.k8s.io/a -n shop: needs Service x"},
	} {
		got := run(t, printer.ForUnready, output.Options{Format: format}, []event.Event{unready()}).out
		for _, want := range wanted {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", format, want, got)
			}
		}
	}
}
