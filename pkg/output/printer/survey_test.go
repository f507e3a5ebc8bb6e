package printer_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// aSurvey is a survey with long names everywhere.
func aSurvey(summary bool) event.Surveyed {
	webhooks := schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}
	controller := managedfields.Owner{Manager: "cert-manager-cainjector", Operation: managedfields.Update, APIVersion: "admissionregistration.k8s.io/v1beta1"}
	status := managedfields.Owner{Manager: "kube-controller-manager", Operation: managedfields.Update, Subresource: "status"}
	web := ref("apps/v1", "Deployment", "shop", "web-of-the-whole-shop-with-a-long-name")
	s := event.Surveyed{
		Where: " in the namespace shop-of-a-customer-with-a-long-name", Objects: 1234, Unmanaged: 12, Expecting: true,
		Managers: []event.ManagerHolding{{Manager: strings.Repeat("manager-with-a-long-name-", 4), Kinds: 3, Objects: 2000, Fields: event.Fields{All: 123456, Shared: 1}}},
		Holdings: []event.KindHolding{
			{Owner: controller, Kind: webhooks, Objects: 12, Fields: event.Fields{All: 24}},
			{Owner: status, Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Objects: 2000, Fields: event.Fields{All: 123456, Shared: 12345}},
		},
		From:       []string{"cert-manager-cainjector", "manager-that-owns-nothing-at-all-of-any-of-the-objects"},
		Leaving:    []event.ObjectHolding{{Ref: web, Manager: "cert-manager-cainjector", Fields: event.Fields{All: 12}, Paths: []event.FieldName{".data.a"}}},
		Unexpected: []event.ObjectHolding{{Ref: web, Manager: "a-manager-that-nobody-has-ever-heard-of", Fields: event.Fields{All: 12}}},
		Unserved:   []event.VersionHolding{{Owner: controller, Kind: webhooks, Objects: 12}},
		Unread:     []event.Unread{{Ref: web, Err: errors.New("no")}},
	}
	if summary {
		s.Holdings = nil
	}
	return s
}

// A survey fits a terminal. In a log, each row is one complete line.
func TestSurveyFits(t *testing.T) {
	for _, summary := range []bool{false, true} {
		events := []event.Event{aSurvey(summary)}
		for _, width := range []int{66, 80, 100, 120, 160} {
			for line := range strings.Lines(run(t, printer.OfSurvey, output.Options{Width: columns(width)}, events).out) {
				if n := columnsOf(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
				}
			}
		}
		got := run(t, printer.OfSurvey, output.Options{}, events).out
		whole := []string{
			"ValidatingWebhookConfiguration", "cert-manager-cainjector (Update)", "kube-controller-manager (status)",
			"owned at versions that the server does not serve; --migrate-versions rewrites them",
		}
		if summary {
			whole = []string{strings.Repeat("manager-with-a-long-name-", 4)}
		}
		for _, want := range append(whole, "without it, 12 of the fields would have no owner", "web-of-the-whole-shop-with-a-long-name -n shop  a-manager-that-nobody-has-ever-heard-of, 12 fields") {
			if !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
				t.Errorf("without a terminal, %q is broken into several lines:\n%s", want, got)
			}
		}
	}
}

// A row of a survey is a line at 80 columns, too: the group of a kind gives way, then the shared fields,
// then the operation. A group stays if two groups have the kind.
func TestSurveyRowsAreLines(t *testing.T) {
	owner := func(name string) managedfields.Owner {
		return managedfields.Owner{Manager: name, Operation: managedfields.Update}
	}
	kind := func(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }
	s := event.Surveyed{Objects: 3, Holdings: []event.KindHolding{
		{Owner: owner("kube-controller-manager"), Kind: kind("apiextensions.k8s.io", "CustomResourceDefinition"), Objects: 1, Fields: event.Fields{All: 3}},
		{Owner: owner("kubectl-client-side-apply"), Kind: kind("networking.k8s.io", "NetworkPolicy"), Objects: 1, Fields: event.Fields{All: 3}},
		{Owner: owner("kubectl-client-side-apply"), Kind: kind("projectcalico.org", "NetworkPolicy"), Objects: 1, Fields: event.Fields{All: 3, Shared: 1}},
	}}
	s.Managers = []event.ManagerHolding{{Manager: "kube-controller-manager", Kinds: 1}}
	for width, want := range map[int]string{
		0: `
MANAGER                              KIND                                            OBJECTS   FIELDS   SHARED   SOLE
kube-controller-manager (Update)     customresourcedefinition.apiextensions.k8s.io   1         3        0        3
kubectl-client-side-apply (Update)   networkpolicy.networking.k8s.io                 1         3        0        3
kubectl-client-side-apply (Update)   networkpolicy.projectcalico.org                 1         3        1        2
`,
		110: `
MANAGER                              KIND                              OBJECTS   FIELDS   SHARED   SOLE
kube-controller-manager (Update)     customresourcedefinition          1         3        0        3
kubectl-client-side-apply (Update)   networkpolicy.networking.k8s.io   1         3        0        3
kubectl-client-side-apply (Update)   networkpolicy.projectcalico.org   1         3        1        2
`,
		100: `
MANAGER                              KIND                              OBJECTS   FIELDS   SOLE
kube-controller-manager (Update)     customresourcedefinition          1         3        3
kubectl-client-side-apply (Update)   networkpolicy.networking.k8s.io   1         3        3
kubectl-client-side-apply (Update)   networkpolicy.projectcalico.org   1         3        2
`,
		86: `
MANAGER                     KIND                              OBJECTS   FIELDS   SOLE
kube-controller-manager     customresourcedefinition          1         3        3
kubectl-client-side-apply   networkpolicy.networking.k8s.io   1         3        3
kubectl-client-side-apply   networkpolicy.projectcalico.org   1         3        2
`,
	} {
		o := output.Options{}
		if width > 0 {
			o.Width = columns(width)
		}
		if got := run(t, printer.OfSurvey, o, []event.Event{s}).out; !strings.HasPrefix("\n"+got, want+"\n") {
			t.Errorf("%d columns:\n%s", width, got)
		}
	}
}

// The list of sets fits the terminal too, although the names of a lock's holder and of the last
// user may be long.
func TestSetsFit(t *testing.T) {
	events := []event.Event{event.Set{
		Ref:     ref("v1", "Secret", "shop-of-a-customer", "shop-with-a-long-name"),
		LastRun: &event.SetRun{Result: "succeeded", Started: noon(), Ended: noon(), Who: "pipeline-with-a-long-name@runner-17.ci.example.com"},
		Lock:    &event.Lock{Holder: "pipeline-with-a-long-name@runner-17.ci.example.com", Since: noon()},
		Members: []event.Member{{Ref: ref("apps/v1", "Deployment", "shop-of-a-customer", "web"), Judged: true, Reason: "2 of 3 replicas are available, and one of them waits for its image"}},
	}}
	for _, width := range []int{80, 100, 120} {
		for line := range strings.Lines(run(t, printer.OfMembers, output.Options{Width: columns(width)}, events).out) {
			if n := columnsOf(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
			}
		}
	}
	if got := run(t, printer.OfMembers, output.Options{}, events).out; strings.Count(got, "\n") != 4 {
		t.Errorf("in a log:\n%s", got)
	}
}
