package html

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// night returns a night of three fields: one is taken by force and given back, one changes hands
// often, one loses its owner in a gap of the watch. say is each text that comes from the cluster.
func night(say func(string) string) past {
	at := func(minutes int) time.Time { return when.Add(time.Duration(minutes-480) * time.Minute) }
	owner := func(name string) []managedfields.Owner {
		return []managedfields.Owner{{Manager: say(name), Operation: "Update"}}
	}
	web := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: say("web")}
	change := func(path, from, to string, first, last, count int) event.ObjectTransition {
		return event.ObjectTransition{Ref: web, Transition: event.Transition{
			Path: say(path), Kind: "taken", From: owner(from), To: owner(to), First: at(first), Last: at(last), Count: count, User: say("ann"),
		}}
	}
	forced := change(".spec.replicas", "flux", "kubectl-edit", 60, 60, 1)
	forced.Forced, forced.FromValue, forced.ToValue = true, say("3"), say("5")
	lost := change(".spec.paused", "helm", "flux", 300, 300, 1)
	lost.To, lost.Gap, lost.Kind = nil, true, "lost"
	return past{
		where: " in the namespace " + say("shop"), notes: []string{say("watched since yesterday")},
		changes: []event.ObjectTransition{
			lost, change(".spec.image", "flux", "argo", 100, 400, 40), change(".spec.replicas", "kubectl-edit", "flux", 200, 200, 1), forced,
		},
		gaps: []event.Gap{{From: at(280), To: at(310)}},
	}
}

func shapeOfPage(t *testing.T, page string) (shape []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			shape = append(shape, n.Data)
			for _, a := range n.Attr {
				shape = append(shape, a.Key)
			}
		}
	}
	return shape
}

// The page has the same elements for any names and values in a cluster.
func TestHostileHistory(t *testing.T) {
	tame := shapeOfPage(t, pageOf(night(func(s string) string { return s }), when))
	pieces := []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</title></svg>", "'", "-->", "\u202e", "\x00", "</style>", "javascript:", "&lt;"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		suffix := pieces[random.IntN(len(pieces))] + pieces[random.IntN(len(pieces))]
		page := pageOf(night(func(s string) string { return s + suffix }), when)
		if got := shapeOfPage(t, page); !slices.Equal(tame, got) {
			t.Fatalf("%q changes the page:\n%v\n%v", suffix, tame, got)
		}
	}
}

// fightsPage returns the page of a fight over one field, with three turns.
func fightsPage(t *testing.T, name string) string {
	t.Helper()
	owner := func(suffix string) *managedfields.Owner {
		return &managedfields.Owner{Manager: name + suffix, Operation: "Apply"}
	}
	value := any(name)
	path, err := fieldpath.ParsePath(".spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	turn := func(at int, from, to string) event.Transition {
		return event.Transition{
			Path: path.String(), Kind: "taken", Count: 1, First: when.Add(time.Duration(at-60) * time.Second), Last: when.Add(time.Duration(at-60) * time.Second),
			From: []managedfields.Owner{*owner(from)}, To: []managedfields.Owner{*owner(to)}, FromValue: "5", ToValue: name,
		}
	}
	fights := event.Fights{Objects: 2, For: time.Minute, Found: []event.Fight{{
		Ref:   object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "shop", Name: name},
		Class: event.SeveralOwners, Writes: 12, Next: []string{"kubectl k8sconnect give " + name},
		Paths: []event.FoughtPath{{
			Path: path, Values: []*any{&value, nil}, Writers: []*managedfields.Owner{owner("-1"), owner("-2")},
			Turns: []event.Transition{turn(10, "-1", "-2"), turn(30, "-2", "-1"), turn(50, "-1", "-2")},
		}},
	}}}
	var out strings.Builder
	results := NewFights(output.NewBase(output.Options{Out: &out, Err: io.Discard, Now: func() time.Time { return when }}, output.NewState(output.Word{}, false)))
	results.Handle(fights)
	if err := results.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The page of fights has the same elements for any names, and shows each writer and each turn.
func TestFights(t *testing.T) {
	tame := fightsPage(t, "flux")
	for _, want := range []string{
		"configmap/flux -n shop", ">12</td>", ".spec.replicas", "flux-1 (Apply) ↔ flux-2 (Apply)", "kubectl k8sconnect give flux",
		"<title>flux-1 (Apply), from 2026-11-22T11:59:00Z to 2026-11-22T11:59:10Z</title>",
		"<title>flux-2 (Apply), from 2026-11-22T11:59:10Z to 2026-11-22T11:59:30Z</title>", ">from 5 to flux</td>",
	} {
		if !strings.Contains(tame, want) {
			t.Errorf("no %q in\n%s", want, tame)
		}
	}
	if got := shapeOfPage(t, fightsPage(t, `"><script>alert(1)</script>`)); !slices.Equal(shapeOfPage(t, tame), got) {
		t.Errorf("a name changes the page: %v", got)
	}
}

// Each field has a band for each period, by owner, in the order of time; and the record's first owner
// is the one before the first change.
func TestLanes(t *testing.T) {
	page := pageOf(night(func(s string) string { return s }), when)
	for _, want := range []string{
		"4 changes of 3 fields",
		"<title>flux (Update), from 2026-11-22T04:39:00Z to 2026-11-22T05:00:00Z</title>",
		"<title>kubectl-edit (Update), from 2026-11-22T05:00:00Z to 2026-11-22T07:20:00Z</title>",
		"<title>flux (Update), from 2026-11-22T07:20:00Z to 2026-11-22T12:00:00Z</title>",
		"<title>40 times, from 2026-11-22T05:40:00Z to 2026-11-22T10:40:00Z</title>",
		"<title>No owner, from 2026-11-22T09:00:00Z to 2026-11-22T12:00:00Z</title>",
		"<title>Not watched from 2026-11-22T08:40:00Z to 2026-11-22T09:10:00Z</title>",
		">taken by force</td>", ">from 3 to 5</td>", ">lost, found after an unwatched period</td>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	image, replicas, paused := strings.Index(page, "<code>.spec.image"), strings.Index(page, "<code>.spec.replicas"), strings.Index(page, "<code>.spec.paused")
	if !slices.IsSorted([]int{0, image, paused, replicas}) {
		t.Errorf("the order of fields is not that of their newest changes: %d %d %d", image, paused, replicas)
	}
}

// The contrast of two colors, by the formula of WCAG 2.2, computed in the page.
const contrastOf = `(() => {
  const light = color => {
    const [r, g, b] = color.match(/[0-9.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const contrast = color => { const l = light(color); return (Math.max(l, paper) + 0.05) / (Math.min(l, paper) + 0.05); };
  let least = 100;
  for (const e of document.querySelectorAll('rect.band:not(.unowned)')) least = Math.min(least, contrast(getComputedStyle(e).fill));
  for (const e of document.querySelectorAll('rect.unowned, circle')) least = Math.min(least, contrast(getComputedStyle(e).stroke));
  for (const e of document.querySelectorAll('h1, h2, p, td, th, li, label, code')) least = Math.min(least, contrast(getComputedStyle(e).color) / 1.5);
  return least;
})()`

// In a browser, the page makes no requests and logs no error, can be searched, works with the
// keyboard, has enough contrast in light and dark (3 to 1 for graphics, 4.5 to 1 for text), and fits
// a phone. With SCREENSHOTS=folder, the test writes pictures.
func TestHistoryInBrowser(t *testing.T) {
	b, check := openPage(t, "history", pageOf(night(func(s string) string { return s }), when))
	shown := func() string {
		return b.eval(`[...document.querySelectorAll('section')].filter(s => !s.hidden).map(s => s.querySelector('code').textContent).join(' ')`)
	}
	search := func(words string) {
		b.eval(fmt.Sprintf(`(() => { const i = document.querySelector('input'); i.value = %q; i.dispatchEvent(new Event('input')); return '' })()`, words))
	}
	search("KUBECTL-edit force")
	if got := shown(); got != ".spec.replicas" || b.eval(`document.getElementById('shown').textContent`) != "1 of 3" {
		t.Errorf("found %q", got)
	}
	search("")
	if got := shown(); got != ".spec.image .spec.paused .spec.replicas" {
		t.Errorf("without a search: %q", got)
	}

	key := func(name string) {
		for _, kind := range []string{"keyDown", "keyUp"} {
			of := map[string]any{"type": kind, "key": name, "code": name}
			switch name {
			case "Enter":
				of["windowsVirtualKeyCode"], of["text"] = 13, "\r"
			case "Tab":
				of["windowsVirtualKeyCode"] = 9
			case "/":
				of["text"] = "/"
			}
			b.ask("Input.dispatchKeyEvent", of, nil)
		}
	}
	focused := `(document.activeElement.getAttribute('href') || document.activeElement.id || document.activeElement.tagName)`
	key("/")
	if got := b.eval(focused); got != "INPUT" {
		t.Errorf("/ moves to %s", got)
	}
	b.eval(`(() => { document.querySelectorAll('svg.lane')[2].querySelector('a').focus(); return '' })()`)
	before := b.eval(focused)
	key("ArrowRight")
	after := b.eval(focused)
	if before != "#c3" || after != "#c4" {
		t.Errorf("the arrow key moves from %s to %s", before, after)
	}
	key("Enter")
	if got := b.eval(`new Promise(done => setTimeout(() => done(` + focused + `), 100))`); got != "c4" {
		t.Errorf("Enter moves to %s, want the change's row", got)
	}
	check()
}

// The page of fights has a table and a time line, passes the same checks, and can be searched.
func TestFightsInBrowser(t *testing.T) {
	b, check := openPage(t, "fights", fightsPage(t, "flux"))
	b.eval(`(() => { const i = document.querySelector('input'); i.value = 'replicas'; i.dispatchEvent(new Event('input')); return '' })()`)
	if got := b.eval(`[...document.querySelectorAll('section')].filter(s => !s.hidden).length + ' ' + document.querySelectorAll('svg.lane circle').length`); got != "2 3" {
		t.Errorf("sections and changes: %s", got)
	}
	check()
}

// openPage opens a page, and returns the checks to run at the end.
func openPage(t *testing.T, name, page string) (*browser, func()) {
	t.Helper()
	b := openBrowser(t)
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(server.Close)
	b.open(server.URL+"/page", `
	  window.faults = [];
	  addEventListener('error', e => window.faults.push(String(e.message)), true);
	  addEventListener('securitypolicyviolation', e => window.faults.push(e.violatedDirective + ' ' + e.blockedURI));
	  for (const level of ['error', 'warn']) { const old = console[level]; console[level] = (...all) => { window.faults.push(all.join(' ')); old(...all); }; }`)
	if b.eval(`Boolean(window.faults)`) != "true" {
		t.Fatal("the page did not run the script that notes its faults")
	}
	return b, func() {
		picture := func(file string) {
			folder := os.Getenv("SCREENSHOTS")
			if folder == "" {
				return
			}
			var shot struct{ Data string }
			b.ask("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
			data, err := base64.StdEncoding.DecodeString(shot.Data)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, file+".png"), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, scheme := range []string{"light", "dark"} {
			b.ask("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
			if got, err := strconv.ParseFloat(b.eval(contrastOf), 64); err != nil || got < 3 {
				t.Errorf("%s: the least contrast is %v, %v", scheme, got, err)
			}
			picture(name + "-" + scheme)
		}
		b.ask("Emulation.setDeviceMetricsOverride", map[string]any{"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true}, nil)
		if wide := b.eval(`document.documentElement.scrollWidth > innerWidth`); wide != "false" {
			t.Error("on a phone, the page needs horizontal scrolling")
		}
		picture(name + "-phone")
		if got := b.eval(`window.faults.join('; ')`); got != "" {
			t.Errorf("the console shows %s", got)
		}
		if n := b.eval(`performance.getEntriesByType('resource').length`); n != "0" {
			t.Errorf("the page asked for %s resources", n)
		}
		close(asked)
		for path := range asked {
			if path != "/page" {
				t.Errorf("the browser asked for %s", path)
			}
		}
	}
}
