package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// wrong is an answer with status 200 that a server always sends instead of the right one.
type wrong struct {
	// to selects the requests that are answered wrongly.
	to   func(*http.Request) bool
	text string
	// as is the content type of the wrong answer; empty for JSON.
	as string
	// says is the expected message for the user; empty if objects can be read in spite of the wrong
	// answer.
	says string
}

func reads(req *http.Request) bool {
	return req.Method == http.MethodGet && !req.URL.Query().Has("watch")
}

func watches(req *http.Request) bool { return req.URL.Query().Has("watch") }

var wrongForever = map[string]wrong{
	"{}":                      {to: reads, text: `{}`, says: "unexpected answer"},
	"null":                    {to: reads, text: `null`, says: "unexpected answer"},
	"[]":                      {to: reads, text: `[]`, says: "unexpected answer"},
	"a web page":              {to: reads, text: `<html>welcome</html>`, as: "text/html", says: "web page"},
	"a page that claims JSON": {to: reads, text: `<html>welcome</html>`, says: "unexpected answer"},
	"half an answer":          {to: reads, text: `{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[{"meta`, says: "the answer is truncated"},
	"items that are null":     {to: reads, text: `{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[null,null]}`, says: "unexpected answer"},
	"a list of another kind":  {to: reads, text: `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`, says: "unexpected answer"},
	"a list without version":  {to: reads, text: `{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{},"items":[]}`, says: "unexpected answer"},
	"an endless list":         {to: reads, text: `{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}`, says: "unexpected answer"},
	"a watch that ends":       {to: watches},
	"a watch of {}":           {to: watches, text: strings.Repeat("{}\n", 20)},
	"a watch of null":         {to: watches, text: "null\nnull\n"},
	"a watch of garbage":      {to: watches, text: "\x00\x01garbage"},
	"a watch of a web page":   {to: watches, text: `<html>welcome</html>`, as: "text/html"},
	"a watch of errors":       {to: watches, text: `{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":500,"message":"no"}}` + "\n"},
	"a watch of half events":  {to: watches, text: `{"type":"ADDED","object":{"kind":"Thing"`},
}

// stubborn is a server with the Things a and b. It deletes a at once, and never deletes b. It
// answers wrongly from the beginning, or from its first deletion on.
type stubborn struct {
	wrong
	later bool

	mu      sync.Mutex
	deleted map[string]bool
}

func (s *stubborn) answer(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := req.URL.Path
	if message := clienttest.CatalogueOf(path, "apps", "example.com"); message != nil {
		return message, nil
	}
	name, single := strings.CutPrefix(path, clienttest.ThingsPath+"/")
	switch {
	case strings.HasPrefix(path, clienttest.ThingsPath) && (!s.later || len(s.deleted) > 0) && s.to(req):
		as := s.as
		if as == "" {
			as = "application/json"
		}
		return clienttest.Text(200, as, s.text), nil
	case req.Method == http.MethodDelete && single:
		s.deleted[name] = true
		if name == "a" {
			return clienttest.Reply(200, metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
				Details: &metav1.StatusDetails{Name: "a", Group: "example.com", Kind: "things", UID: "u-a"},
			}), nil
		}
		return clienttest.Reply(200, s.object(name)), nil
	case single && s.object(name) != nil:
		return clienttest.Reply(200, s.object(name)), nil
	case path == clienttest.ThingsPath && watches(req):
		return silentWatch(req), nil
	case path == clienttest.ThingsPath:
		items := []any{}
		for _, name := range []string{"a", "b"} {
			if s.object(name) != nil && strings.HasSuffix("metadata.name="+name, req.URL.Query().Get("fieldSelector")) {
				items = append(items, s.object(name))
			}
		}
		return clienttest.Reply(200, map[string]any{
			"apiVersion": "example.com/v1", "kind": "ThingList", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		}), nil
	default:
		return clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: name}), nil
	}
}

// silentWatch stays open until its request ends, and sends nothing.
func silentWatch(req *http.Request) *http.Response {
	r, w := io.Pipe()
	context.AfterFunc(req.Context(), func() { _ = w.CloseWithError(context.Cause(req.Context())) })
	resp := clienttest.Text(200, "application/json", "")
	resp.Body, resp.ContentLength = r, -1
	return resp
}

// object returns an object; nil if it is gone.
func (s *stubborn) object(name string) map[string]any {
	if name == "a" && s.deleted[name] {
		return nil
	}
	u := clienttest.NewObject(clienttest.Things(), name)
	u.SetUID(types.UID("u-" + name))
	u.SetResourceVersion("2")
	if s.deleted[name] {
		u.SetDeletionTimestamp(&metav1.Time{Time: time.Now().Truncate(time.Second)})
		u.SetFinalizers([]string{"example.com/never"})
	}
	return u.Object
}

type (
	connecting func(patience time.Duration) *client.Client
	verbRun    func(context.Context, connecting, *ended)
)

// ended contains the results of a verb, and its output.
type ended struct {
	results []event.Action
	message strings.Builder
	err     error
}

func (r *ended) hear(e event.Event) {
	switch e := e.(type) {
	case event.Deleted:
		r.results = append(r.results, e.Action)
	case event.Waited:
		r.results = append(r.results, e.Action)
	}
	fmt.Fprintf(&r.message, "%+v\n", e)
}

// A server repeats a wrong answer. Each verb that waits still ends after its --timeout or
// --server-timeout. It reports the answer, and draws no conclusion from it.
func TestPersistentWrongAnswers(t *testing.T) {
	const timeout, serverTimeout, outage, little = 10 * time.Second, 30 * time.Second, 5 * time.Minute, 5 * time.Second
	kept := clienttest.Things()
	kept.Verbs = append(slices.Clone(clienttest.Things().Verbs), "create", "delete")
	item := func(name string) deletion.Set {
		return deletion.Set{Kind: kept, Selection: object.Selection{Namespace: "prod"}, Items: []deletion.Item{{Ref: object.Ref{GVK: kept.GVK, Namespace: "prod", Name: name}}}}
	}
	byLabels := object.Selection{Namespace: "prod", Labels: "app=x"}
	deletes := func(phases ...deletion.Phase) verbRun {
		return func(ctx context.Context, connect connecting, r *ended) {
			c := connect(serverTimeout)
			engine := deletion.Engine{
				First: c, Server: connect(outage), Wait: true, Emit: r.hear, Timeout: func(object.Kind) time.Duration { return timeout },
				Explainer: &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: c.NoRetry(), Now: c.Now}},
			}
			r.err = engine.Run(ctx, phases)
		}
	}
	waits := func(sel object.Selection, until string) verbRun {
		return func(ctx context.Context, connect connecting, r *ended) {
			spec, err := condition.Parse(until)
			if err != nil {
				t.Fatal(err)
			}
			engine := wait.Engine{Source: connect(serverTimeout), Timeout: timeout, Emit: r.hear}
			r.err = engine.Run(ctx, []wait.Target{{Selection: sel, Kind: kept, Type: "things.example.com", Goal: &wait.Goal{For: []condition.Spec{spec}}}})
		}
	}
	for verb, test := range map[string]struct {
		run verbRun
		// most is the maximum time before --timeout begins.
		most time.Duration
	}{
		"delete -f":         {deletes(deletion.Phase{Sets: []deletion.Set{item("a")}}, deletion.Phase{Sets: []deletion.Set{item("b")}}), serverTimeout},
		"delete by name":    {deletes(deletion.Phase{Sets: []deletion.Set{item("b")}}), serverTimeout},
		"delete -l":         {deletes(deletion.Phase{Sets: []deletion.Set{{Kind: kept, Selection: byLabels}}}), serverTimeout},
		"wait by name":      {waits(object.Selection{Namespace: "prod", Name: "b"}, "delete"), 0},
		"wait -l":           {waits(byLabels, "delete"), 0},
		"wait for creation": {waits(object.Selection{Namespace: "prod", Name: "c"}, "create"), 0},
		"stuck -l": {func(ctx context.Context, connect connecting, r *ended) {
			c := connect(serverTimeout)
			explainer := &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: c.NoRetry(), Now: c.Now}}
			_, _, r.err = explainer.Survey(ctx, stuck.Scope{Kinds: []object.Kind{kept}, Selection: byLabels})
		}, 0},
		"stuck by name": {func(ctx context.Context, connect connecting, r *ended) {
			_, r.err = connect(serverTimeout).NoRetry().Get(ctx, kept.GVK, "prod", "b")
		}, 0},
	} {
		for what, answer := range wrongForever {
			for _, later := range []bool{false, true} {
				if later && !strings.HasPrefix(verb, "delete") {
					continue // Nothing is deleted.
				}
				t.Run(fmt.Sprintf("%s/%s/later %v", verb, what, later), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &stubborn{wrong: answer, later: later, deleted: map[string]bool{}}
						connect := func(patience time.Duration) *client.Client {
							c, _, _ := clienttest.NewFor(t, patience, func(_ int, req *http.Request) (*http.Response, error) { return s.answer(req) })
							return c
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
						defer cancel()
						began, r := time.Now(), &ended{}
						test.run(ctx, connect, r)
						most := test.most
						if later { // Something is under way, and looked for as long as it may take.
							most = timeout
						}
						if took := time.Since(began); took > most+timeout+little {
							t.Errorf("took %s, want at most %s plus %s and a small margin", took, most, timeout)
						}
						all := r.message.String() + fmt.Sprint(r.err)
						switch {
						case later:
							if slices.Contains(r.results[len(r.results)-1:], event.Gone) {
								t.Errorf("b is reported as gone: %v\n%s", r.results, all)
							}
						case answer.says != "" && (r.err == nil || !strings.Contains(all, answer.says)):
							t.Errorf("%v: the output does not contain %q\n%s", r.err, answer.says, all)
						case answer.says != "" && slices.ContainsFunc(r.results, func(a event.Action) bool { return a != event.Unknown }):
							t.Errorf("got results %v, want only unknown ones", r.results)
						}
					})
				})
			}
		}
	}
}
