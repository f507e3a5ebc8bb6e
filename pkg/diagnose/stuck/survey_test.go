package stuck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// An object that blocks many others is read only once. It is reported as one root cause, with the
// number of the others.
func TestSurvey(t *testing.T) {
	text := operatorWith("{}", 0)
	for i := range 50 {
		text = "\n---" + strings.Replace(held, "name: w,", fmt.Sprintf("name: w%02d,", i), 1) + strings.TrimPrefix(text, "\n")
	}
	text += "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: alone, namespace: shop, " + dying + ", finalizers: [other.org/x]}}"
	text += "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: lives, namespace: shop}}"
	m := diagnosetest.Memory{Objects: diagnosetest.Read(t, strings.TrimPrefix(text, "\n---"))}
	g := Explainer{Gatherer: diagnose.Gatherer{Reader: &m, Now: diagnosetest.Now}}
	roots, objects, err := g.Survey(t.Context(), Scope{})
	if err != nil || len(objects) != 51 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	if len(roots) != 2 || roots[0].Total != 50 || roots[0].Cause.Code != FinalizerControllerScaledDown || len(roots[0].Holds) != 50 {
		t.Errorf("roots %+v", roots)
	}
	if g.Requests() != len(m.Asked()) || g.Requests() > 30 {
		t.Errorf("%d requests counted, %d sent: %q", g.Requests(), len(m.Asked()), m.Asked())
	}
	replays := 0
	for _, asked := range m.Asked() {
		if strings.HasPrefix(asked, "replay") {
			replays++
		}
	}
	if replays != 2 {
		t.Errorf("%d dry runs, want one for each class", replays)
	}
	if !slices.IsSortedFunc(objects, func(a, b Explained) int { return a.Ref.Compare(b.Ref) }) {
		t.Error("the objects are not sorted")
	}
}

// The survey shows the same deletion time for a pod as the cluster.
func TestSurveyShowsDeletionTimeOfServer(t *testing.T) {
	m := diagnosetest.Memory{Objects: diagnosetest.Read(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, deletionTimestamp: "2026-01-01T11:50:00Z", deletionGracePeriodSeconds: 600}}`)}
	_, objects, err := (&Explainer{Gatherer: diagnose.Gatherer{Reader: &m, Now: diagnosetest.Now}}).Survey(t.Context(), Scope{})
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	if got := objects[0].Since.UTC().Format(time.RFC3339); got != "2026-01-01T11:50:00Z" {
		t.Errorf("since %s", got)
	}
}

// Edge case 67: kinds that cannot be read are reported. The findings about other kinds are valid.
func TestSurveyUnread(t *testing.T) {
	m := diagnosetest.Memory{
		Objects: diagnosetest.Read(t, strings.TrimSpace(held)+"\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}}"),
		Answers: diagnosetest.Answers{Failing: map[string]error{"Secret": diagnosetest.Forbidden("secrets")}},
	}
	g := Explainer{Gatherer: diagnose.Gatherer{Reader: &m, Now: diagnosetest.Now}}
	_, objects, err := g.Survey(t.Context(), Scope{Selection: object.Selection{Namespace: "shop"}})
	unread, ok := errors.AsType[*UnreadError](err)
	if !ok || len(unread.Unread) != 1 || len(objects) != 1 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
}

// The budget limits the requests, and the cause says so.
func TestBudget(t *testing.T) {
	m := diagnosetest.Memory{Objects: diagnosetest.Read(t, strings.TrimSpace(held))}
	g := Explainer{Gatherer: diagnose.Gatherer{Reader: &m, Now: diagnosetest.Now, Budget: 5}}
	facts, err := g.Gather(t.Context(), m.Objects[0])
	if err != nil {
		t.Fatal(err)
	}
	causes := Diagnose(facts)
	if g.Requests() > 5 {
		t.Errorf("%d requests", g.Requests())
	}
	if last := causes[len(causes)-1]; last.Code != NotRead || !strings.Contains(strings.Join(last.Evidence, " "), diagnose.ErrNotAsked.Error()) {
		t.Errorf("no cause says that the budget was exceeded: %+v", causes)
	}
}

func TestRoots(t *testing.T) {
	ref := func(name string) object.Ref {
		return object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: name}
	}
	roots := Roots([]Explained{
		{Ref: ref("b"), Causes: []event.Cause{{Code: "A", BlockedBy: ref("x")}, {Code: "Z"}}},
		{Ref: ref("a"), Causes: []event.Cause{{Code: "A", BlockedBy: ref("x"), Message: "in other words"}}},
		{Ref: ref("c"), Causes: []event.Cause{{Code: "A", BlockedBy: ref("y")}}},
		{Ref: ref("d"), Causes: []event.Cause{{Code: "B", Message: "one"}}},
		{Ref: ref("e"), Causes: []event.Cause{{Code: "B", Message: "other"}}},
		{Ref: ref("f")},
	})
	waits := event.Cause{Code: "A", BlockedBy: ref("x"), Evidence: []string{"deleted"}}
	behind := event.Cause{Code: "A", BlockedBy: ref("x"), Evidence: []string{"holds back 1 object in it: a", "deleted"}}
	for _, found := range [][]Explained{
		{{Ref: ref("ns"), Causes: []event.Cause{behind}}, {Ref: ref("a"), Causes: []event.Cause{waits}}},
		{{Ref: ref("a"), Causes: []event.Cause{waits}}, {Ref: ref("ns"), Causes: []event.Cause{behind}}},
	} {
		if got := Roots(found)[0].Cause.Evidence; !slices.Equal(got, waits.Evidence) {
			t.Errorf("the root's evidence is %q, want that of the object that waits directly", got)
		}
	}
	var got []string
	for _, r := range roots {
		got = append(got, fmt.Sprint(r.Cause.Code, r.Total, r.Holds[0].Name))
	}
	if want := []string{"A2a", "A1c", "B1d", "B1e"}; !slices.Equal(got, want) {
		t.Errorf("roots %q, want %q", got, want)
	}
}

// shrinking is a Reader that returns fewer ConfigMaps with each list.
type shrinking struct {
	*diagnosetest.Memory
	left int
}

func (s *shrinking) Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	objects, err := s.Memory.Metadata(ctx, gvk, sel)
	if gvk.Kind == "ConfigMap" {
		s.left--
		objects = objects[:s.left]
	}
	return objects, err
}

// Edge case 58: a namespace that loses objects between two counts is slow, not stuck.
func TestProgress(t *testing.T) {
	text := namespaced("", "kubernetes")
	for i := range 10 {
		text += fmt.Sprintf("\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop}}", i)
	}
	m := diagnosetest.Memory{Objects: diagnosetest.Read(t, text)}
	at := diagnosetest.Now()
	clock := func() time.Time { at = at.Add(time.Second); return at }
	g := Explainer{Gatherer: diagnose.Gatherer{Reader: &shrinking{Memory: &m, left: 10}, Now: clock}, Pause: time.Nanosecond}
	facts, err := g.Gather(t.Context(), m.Objects[0])
	if err != nil {
		t.Fatal(err)
	}
	causes := Diagnose(facts)
	if causes[0].Code != Progressing || !strings.Contains(causes[0].Message, "8 objects remaining") {
		t.Errorf("%+v", causes)
	}
	// The second explanation compares its count with that of the first.
	before := g.Requests()
	facts, err = g.Gather(t.Context(), m.Objects[0])
	if err != nil || facts.Before.Left != 8 || facts.After.Left != 7 {
		t.Errorf("got counts %+v and %+v, error %v after %d requests; want 8 and 7 objects left", facts.Before, facts.After, err, g.Requests()-before)
	}
}

// A forecast and "not stuck" appear only if nothing holds back the objects that are left. The
// finalizers cover each rank of a cause: gone, forbidden and silent controllers, and none at all.
func TestProgressBesideOtherCauses(t *testing.T) {
	for name, test := range map[string]struct {
		with  string
		first string
		holds bool
	}{
		"nothing holds":           {"", Progressing, false},
		"no controller":           {held, FinalizerControllerGone, true},
		"the controller is off":   {held + operatorWith("{}", 0), FinalizerControllerScaledDown, true},
		"the API does not answer": {apiService("False"), APIServiceUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			conditions := ""
			if name == "the API does not answer" {
				conditions = discoveryFailed
			}
			objects := namespaced(conditions, "kubernetes")
			for i := range 10 {
				objects += fmt.Sprintf("\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop}}", i)
			}
			if test.with != "" {
				objects += "\n---\n" + strings.TrimPrefix(strings.TrimSpace(test.with), "---")
			}
			m := diagnosetest.Memory{Objects: diagnosetest.Read(t, objects)}
			at := diagnosetest.Now()
			clock := func() time.Time { at = at.Add(time.Second); return at }
			g := Explainer{Gatherer: diagnose.Gatherer{Reader: &shrinking{Memory: &m, left: 10}, Now: clock}, Pause: time.Nanosecond}
			facts, err := g.Gather(t.Context(), m.Objects[0])
			if err != nil {
				t.Fatal(err)
			}
			causes := Diagnose(facts)
			all := fmt.Sprint(causes)
			if causes[0].Code != test.first || !strings.Contains(all, "of its objects went away in the last") {
				t.Errorf("%+v", causes)
			}
			if forecast := strings.Contains(all, "not stuck") || strings.Contains(all, "at this rate"); forecast == test.holds {
				t.Errorf("a forecast: %t\n%s", forecast, all)
			}
		})
	}
}

// silence is a server that does not answer.
type silence struct{ diagnosetest.Memory }

func (s *silence) Get(context.Context, schema.GroupVersionKind, string, string) (*unstructured.Unstructured, error) {
	return nil, diagnose.ErrSlow
}

func (s *silence) Select(context.Context, schema.GroupVersionKind, object.Selection, string, func(*unstructured.Unstructured)) error {
	return diagnose.ErrSlow
}

func (s *silence) Kinds(context.Context) ([]object.Kind, error) { return nil, diagnose.ErrSlow }

// A server that does not answer is asked once, not in every round.
func TestSilentServerIsAskedOnce(t *testing.T) {
	live := diagnosetest.Read(t, strings.TrimSpace(held))[0]
	g := Explainer{Gatherer: diagnose.Gatherer{Reader: &silence{}, Now: diagnosetest.Now}}
	facts, err := g.Gather(t.Context(), live)
	if err != nil {
		t.Fatal(err)
	}
	if causes := Diagnose(facts); causes[0].Code != ServerFailing {
		t.Errorf("%+v", causes)
	}
	first := g.Requests()
	answers := Explainer{Gatherer: diagnose.Gatherer{Reader: &diagnosetest.Memory{}, Now: diagnosetest.Now}}
	if _, err := answers.Gather(t.Context(), live); err != nil || answers.Requests() <= first {
		t.Errorf("sent %d requests, want fewer than the %d to a server that answers: %v", first, answers.Requests(), err)
	}
}
