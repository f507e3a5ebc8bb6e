package printer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	diagnosis "github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
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
	got := run(t, printer.OfUnready, output.Options{Width: columns(80)}, []event.Event{unready()}).out
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	each := run(t, printer.OfUnready, output.Options{Verbose: true}, []event.Event{unready()}).out
	if n := strings.Count(each, "Unschedulable: "); n != 6 || strings.Contains(each, "the same") {
		t.Errorf("with -v 1, %d objects have the cause:\n%s", n, each)
	}
}

// A cause names all objects that it holds back, and an object with a further cause of its own is printed
// with that one, too. The last line counts the causes above it.
func TestUnreadySeveralCauses(t *testing.T) {
	quota := func(who string) event.Cause {
		return event.Cause{Code: "QuotaExceeded", Message: "Pods of " + who + " -n un are refused: ResourceQuota q is used up", BlockedBy: ref("v1", "ResourceQuota", "un", "q"), Next: "kubectl describe resourcequota/q -n un"}
	}
	nodes := event.Cause{Code: "Unschedulable", Message: "2 Pods: fits none of 3 nodes", Next: "kubectl get nodes -L gpu"}
	image := event.Cause{Code: "ImagePull", Message: "pod/x -n un: no image"}
	late := event.Cause{Code: "ProgressDeadlineExceeded", Message: "made no progress", Follows: true}
	u := event.Unready{Objects: 20, Kinds: 3, Namespace: "un"}
	var explained []diagnosis.Explained
	add := func(kind, name string, causes ...event.Cause) {
		of := ref("apps/v1", kind, "un", name)
		u.Found = append(u.Found, event.UnreadyObject{Ref: of, Message: "0 of 3 replicas are ready", Causes: causes})
		explained = append(explained, diagnosis.Explained{Ref: of, Causes: causes})
	}
	add("Deployment", "gpu", quota("replicaset.apps/gpu-1"), nodes, late)
	add("Deployment", "many", quota("replicaset.apps/many-1"), late)
	add("Deployment", "two", image, nodes)
	add("StatefulSet", "db", quota("statefulset.apps/db"))
	add("Deployment", "web", image, event.Cause{Code: "CrashLoop", Message: "pod/y -n un: exits"})
	u.Roots = diagnosis.Roots(explained)
	const want = `2 Deployments, 1 StatefulSet not ready, for the same reason
    QuotaExceeded: Pods are refused: ResourceQuota q is used up
      held by  resourcequota/q -n un
      next     kubectl describe resourcequota/q -n un
  deployment.apps/gpu -n un
  deployment.apps/many -n un
  statefulset.apps/db -n un
2 Deployments not ready, for the same reason
    ImagePull: no image
  deployment.apps/two -n un
  deployment.apps/web -n un
2 Deployments not ready, for the same reason
    Unschedulable: fits none of 3 nodes
      next     kubectl get nodes -L gpu
  deployment.apps/gpu -n un
  deployment.apps/two -n un
deployment.apps/web -n un: 0 of 3 replicas are ready
    CrashLoop: pod/y -n un: exits
in namespace un: 5 of 20 objects not ready, 4 causes
`
	got := run(t, printer.OfUnready, output.Options{}, []event.Event{u}).out
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	each := run(t, printer.OfUnready, output.Options{Verbose: true}, []event.Event{u}).out
	for _, o := range u.Found {
		if n := strings.Count(each, o.Ref.String()+": 0 of 3"); n != 1 {
			t.Errorf("with -v 1, %s is printed %d times:\n%s", o.Ref, n, each)
		}
	}
	markdown := run(t, printer.OfUnready, output.Options{Format: output.Markdown}, []event.Event{u}).out
	if n := strings.Count(markdown, "deployment.apps/gpu"); n != 2 || !strings.Contains(markdown, "4 causes") {
		t.Errorf("%d rows name gpu:\n%s", n, markdown)
	}
}

func TestUnreadySummary(t *testing.T) {
	unread := []event.Unread{{Ref: ref("v1", "Pod", "", ""), Err: errors.New("no")}}
	for want, u := range map[string]event.Unready{
		"141 objects: all ready\n":                      {Objects: 141},
		"in namespace shop: no objects\n":               {Namespace: "shop"},
		"0 of 141 objects not ready, 1 kind not read\n": {Objects: 141, Unread: unread},
		"in namespace shop: 1 object: all ready\n1 object being deleted; if they do not go away: kubectl k8sconnect stuck -n shop\n": {Objects: 1, Namespace: "shop", Terminating: 1, Stuck: "kubectl k8sconnect stuck -n shop"},
	} {
		if got := run(t, printer.OfUnready, output.Options{}, []event.Event{u}).out; got != want {
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
		got := run(t, printer.OfUnready, output.Options{Format: format}, []event.Event{unready()}).out
		for _, want := range wanted {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", format, want, got)
			}
		}
	}
}
