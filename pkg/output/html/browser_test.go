package html

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// browser is a headless Chromium, controlled through a pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	id      int
	session string
}

// openBrowser starts a browser, and skips the test if none is installed.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("no Chromium is installed, so sorting and filtering are not tested")
	}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(t.TempDir(), "profile")
	// The test's context ends before the test's cleanups. It would kill the browser's main process
	// while other processes of the browser still write files.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--user-data-dir="+profile)
	cmd.ExtraFiles = []*os.File{in, out} // file descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Close(), out.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		b.session = ""
		_ = b.send("Browser.close", nil)
		_ = cmd.Wait()
		_, _ = to.Close(), from.Close()
		// The last process of the browser may still write after its first process has ended.
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			err := os.RemoveAll(profile)
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Error(err)
				return
			}
		}
	})
	return b
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

func (b *browser) send(method string, params any) error {
	b.id++
	text, err := json.Marshal(message{ID: b.id, Method: method, Params: params, SessionID: b.session})
	if err != nil {
		return err
	}
	_, err = b.to.Write(append(text, 0))
	return err
}

// ask sends a command and waits for its answer.
func (b *browser) ask(method string, params any, into any) {
	b.t.Helper()
	if err := b.send(method, params); err != nil {
		b.t.Fatal(err)
	}
	for {
		text, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.t.Fatal(err)
		}
		if m.ID != b.id {
			continue // an event, or the answer to an earlier request
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error)
		}
		if into != nil {
			if err := json.Unmarshal(m.Result, into); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// open goes to a page, which runs the scripts before its own.
func (b *browser) open(url string, scripts ...string) {
	b.t.Helper()
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.ask("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.ask("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.ask("Page.enable", nil, nil)
	for _, script := range scripts {
		b.ask("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, nil)
	}
	b.ask("Page.navigate", map[string]any{"url": url}, nil) // It answers once the page is loaded.
	b.eval(`new Promise(done => document.readyState === 'complete' ? done('') : addEventListener('load', () => done('')))`)
}

// eval runs an expression in the page with a debugger's permissions, and returns the result as
// text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var out struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	b.ask("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if out.Exception != nil {
		b.t.Fatalf("%s: %s", expression, out.Exception)
	}
	return fmt.Sprint(out.Result.Value)
}

// column is a column of the page's second table.
const columnOf = `[...document.querySelectorAll('table')[1].tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[%d].textContent).join(' ')`

// In a browser, the page can be sorted and filtered, makes no requests, and fits the screen of a
// phone and paper.
func TestBrowser(t *testing.T) {
	b := openBrowser(t)
	s := surveyOf("flux")
	s.Holdings = nil
	for _, h := range []struct {
		manager string
		fields  int
	}{{"helm", 30}, {"flux", 200}, {"kubectl-edit", 4}, {"<b>argo</b>", 100}} {
		s.Holdings = append(s.Holdings, event.KindHolding{
			Owner: managedfields.Owner{Manager: h.manager, Operation: "Apply"}, Kind: schema.GroupKind{Kind: "ConfigMap"}, Objects: 1, Fields: event.Fields{All: h.fields},
		})
	}
	page := render(s, time.Now())
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	}))
	defer server.Close()
	b.open(server.URL + "/page")

	const managerColumn, fieldsColumn = 0, 4
	click := func(column int) {
		b.eval(fmt.Sprintf(`document.querySelectorAll('table')[1].tHead.rows[0].cells[%d].querySelector('button').click()`, column))
	}
	shows := func(what string, column int, want string) {
		t.Helper()
		if got := b.eval(fmt.Sprintf(columnOf, column)); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	shows("as written", fieldsColumn, "30 200 4 100")
	click(fieldsColumn)
	shows("by fields", fieldsColumn, "200 100 30 4")
	click(fieldsColumn)
	shows("by fields, upwards", fieldsColumn, "4 30 100 200")
	click(managerColumn)
	shows("by manager", managerColumn, "<b>argo</b> flux helm kubectl-edit")
	filter := func(words string) {
		b.eval(fmt.Sprintf(`(() => { const i = document.querySelector('input'); i.value = %q; i.dispatchEvent(new Event('input')); return '' })()`, words))
	}
	filter("EDIT configmap")
	shows("filtered", managerColumn, "kubectl-edit")
	filter("<b>")
	shows("filtered by markup", managerColumn, "<b>argo</b>")
	filter("")
	shows("not filtered", managerColumn, "<b>argo</b> flux helm kubectl-edit")

	b.ask("Emulation.setDeviceMetricsOverride", map[string]any{"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true}, nil)
	if wide := b.eval(`document.documentElement.scrollWidth > innerWidth`); wide != "false" {
		t.Error("on a phone, the page needs horizontal scrolling")
	}
	b.ask("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	if shown := b.eval(`getComputedStyle(document.getElementById('filter')).display`); shown != "none" {
		t.Error("the filter is visible in print")
	}
	if n := b.eval(`performance.getEntriesByType('resource').length`); n != "0" {
		t.Errorf("the page asked for %s resources", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(asked, []string{"/page"}) {
		t.Errorf("the browser asked for %s", strings.Join(asked, ", "))
	}
}
