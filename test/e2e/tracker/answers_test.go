package tracker_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/tracker"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// wrongAnswers are responses of an intermediary.
func wrongAnswers() map[string]proxy.Fault {
	const failed = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no",`
	out := map[string]proxy.Fault{"half of it": {Half: true}}
	for name, body := range map[string]string{
		"nothing":         `{}`,
		"an empty list":   `{"items":[]}`,
		"another list":    `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`,
		"not found":       failed + `"reason":"NotFound","code":404}`,
		"forbidden":       failed + `"reason":"Forbidden","code":403}`,
		"success":         `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`,
		"no JSON":         `welcome`,
		"a page":          `<html><body>Please log in.</body></html>`,
		"another object":  `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"another","namespace":"release"},"data":{}}`,
		"empty discovery": `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[]}`,
		"no groups":       `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"no kinds":        `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[]}`,
	} {
		out[name] = proxy.Fault{Status: http.StatusOK, Body: body}
	}
	return out
}

// sickAt are the requests that get wrong responses.
func sickAt(checkpoint string) map[string]proxy.Match {
	watches := func(r *http.Request) bool { return r.URL.Query().Has("watch") }
	ofConfigMaps := func(r *http.Request) bool { return r.URL.Path == "/api/v1/configmaps" }
	return map[string]proxy.Match{
		"lists":          func(r *http.Request) bool { return ofConfigMaps(r) && !watches(r) },
		"watches":        func(r *http.Request) bool { return ofConfigMaps(r) && watches(r) },
		"the checkpoint": func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/"+checkpoint) },
		"kinds": func(r *http.Request) bool {
			parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
			return len(parts) == 1 || parts[0] == "api" && len(parts) == 2 || parts[0] == "apis" && len(parts) == 3
		},
		"everything": func(*http.Request) bool { return true },
	}
}

// patient is a tracker behind a proxy that can return wrong responses.
type patient struct {
	*world
	*proxy.HTTP
	way    *proxy.TCP
	config *rest.Config
	name   string // the checkpoint's
}

func newPatient(t *testing.T, w *world, name string) *patient {
	t.Helper()
	p := &patient{world: w, name: name}
	var err error
	if p.HTTP, err = w.HTTPProxy(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if p.way, err = proxy.NewTCP(p.URL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.way.Close)
	p.config = rest.CopyConfig(w.config)
	p.config.Host = p.way.URL()
	return p
}

func (p *patient) through(o *tracker.Options) {
	config := tracker.Checked(p.config)
	typed := kubernetes.NewForConfigOrDie(config)
	o.Metadata, o.Discovery, o.ConfigMaps = metadata.NewForConfigOrDie(config), typed.Discovery().(tracker.Discovery), typed.CoreV1().ConfigMaps(p.own)
	o.Name = p.name
}

// history returns the tracker's stored state; empty before the first time.
func (p *patient) history(t *testing.T) (c tracker.Coverage, checkpoint tracker.Checkpoint) {
	t.Helper()
	stored, err := p.typed.CoreV1().ConfigMaps(p.own).Get(t.Context(), p.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return c, checkpoint
	}
	if err != nil {
		t.Fatal(err)
	}
	fromJSON(t, stored.Data[tracker.CoverageKey], &c)
	fromJSON(t, stored.Data[tracker.CheckpointKey], &checkpoint)
	return c, checkpoint
}

// Edge case 85: an intermediary responds in place of the API server, while the tracker runs or
// starts. Takeovers in the meantime are reported or in a gap, nothing is reported that did not
// happen, and declared gaps stay.
func TestWrongAnswers(t *testing.T) {
	w := newWorld(t, shared.Cluster(t))
	for at := range sickAt("") {
		for _, restarted := range []bool{false, true} {
			name := strings.ReplaceAll(fmt.Sprintf("%s-%v", at, restarted), " ", "-")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				newPatient(t, w, name).suffers(t, sickAt(name)[at], restarted)
			})
		}
	}
}

func (p *patient) suffers(t *testing.T, match proxy.Match, restarted bool) {
	object := func(n int) string { return fmt.Sprint(p.name, "-", n) }
	for n := range 3 {
		p.claim(t, object(n))
	}
	r := p.track(t, true, p.through)
	reported := p.takeOver(t, object(0))
	eventually(t, "told", func() bool { return contains(r.lines(), reported[0]) })
	eventually(t, "stored", func() bool {
		_, checkpoint := p.history(t)
		return checkpoint.Resources["configmaps"].Version != "" && r.settledAll()
	})
	before, _ := p.history(t)
	if restarted {
		r.stop()
	}
	for range 30 { // sequential
		for _, name := range slices.Sorted(maps.Keys(wrongAnswers())) {
			p.Fail(1, match, wrongAnswers()[name])
		}
	}
	seen := len(p.Requests())
	p.way.Break()
	began := time.Now()
	reported = append(reported, p.takeOver(t, object(1))...)
	if restarted {
		r = p.start(t, true, p.through)
	} else { // discovers kinds
		kind := strings.ReplaceAll(p.name, "-", "")
		p.apply(t, "admin", definitions, "", strings.NewReplacer("widget", "w"+kind, "Widget", "W"+kind).Replace(widgets))
	}
	eventually(t, "sick", func() bool {
		n := 0
		for _, request := range p.Requests()[seen:] {
			if request.Failed {
				n++
			}
		}
		return n >= 2 && time.Since(began) > 4*time.Second
	})
	p.Heal()
	ended := time.Now()
	reported = append(reported, p.takeOver(t, object(2))...)
	eventually(t, "told what came after it", func() bool { return contains(r.lines(), reported[2]) })
	declared := func() (c tracker.Coverage, ok bool) {
		c, _ = p.history(t)
		return c, slices.ContainsFunc(c.Gaps, func(g tracker.Gap) bool { return !g.From.After(began.Add(time.Second)) && !g.To.Before(began) })
	}
	eventually(t, "told or declared", func() bool {
		_, ok := declared()
		return ok || contains(r.lines(), reported[1])
	})
	c, _ := p.history(t)
	if !c.Since.Equal(before.Since) {
		t.Errorf("watched since %s, want since %s", c.Since, before.Since)
	}
	for _, g := range c.Gaps {
		if g.From.Before(before.Since.Add(-time.Second)) || g.To.After(ended.Add(2*time.Minute)) {
			t.Errorf("unexpected gap from %s to %s", g.From, g.To)
		}
	}
	for _, line := range r.lines() {
		if strings.Contains(line, p.name+"-") && !slices.Contains(reported, strings.TrimSuffix(line, ", gap")) {
			t.Errorf("reported something that did not happen: %s", line)
		}
	}
}
