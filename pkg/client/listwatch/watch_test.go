package listwatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// diary contains what a watch reported, with one word for each report.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) report(c object.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c := c.(type) {
	case object.Present:
		d.entries = append(d.entries, fmt.Sprintf("%s@%s", c.Object.GetName(), c.Object.GetResourceVersion()))
	case object.Gone:
		d.entries = append(d.entries, fmt.Sprintf("-%s(%s)", c.Object.GetName(), c.Object.GetUID()))
	case object.Synced:
		d.entries = append(d.entries, "synced")
	case object.Unreadable:
		d.entries = append(d.entries, "unreadable")
	}
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries)
}

func listOf(at, next string, objects ...*unstructured.Unstructured) *http.Response {
	items := []any{}
	for _, u := range objects {
		items = append(items, u.Object)
	}
	return clienttest.Reply(http.StatusOK, map[string]any{
		"kind": "ConfigMapList", "apiVersion": "v1", "items": items,
		"metadata": map[string]any{"resourceVersion": at, "continue": next},
	})
}

func frameOf(typ string, object any) string {
	text, err := json.Marshal(map[string]any{"type": typ, "object": object})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func bookmark(at string) string {
	u := clienttest.NewObject(clienttest.Watched(), "")
	u.SetResourceVersion(at)
	return frameOf("BOOKMARK", u.Object)
}

// streamOf returns a watch that sends frames and then ends with err.
func streamOf(err error, frames ...string) *http.Response {
	r, w := io.Pipe()
	go func() {
		for _, f := range frames {
			_, _ = io.WriteString(w, f)
		}
		_ = w.CloseWithError(err)
	}()
	resp := clienttest.Text(http.StatusOK, "application/json", "")
	resp.Body, resp.ContentLength = r, -1
	return resp
}

// silence returns a watch that sends frames and then nothing.
func silence(req *http.Request, frames ...string) *http.Response {
	r, w := io.Pipe()
	go func() {
		for _, f := range frames {
			_, _ = io.WriteString(w, f)
		}
		<-req.Context().Done()
		_ = w.CloseWithError(req.Context().Err())
	}()
	resp := clienttest.Text(http.StatusOK, "application/json", "")
	resp.Body, resp.ContentLength = r, -1
	return resp
}

// script contains a server's answers.
type script struct {
	lists   []func() *http.Response
	watches []func(*http.Request) *http.Response
}

// server answers lists and watches in order, and repeats the last answer of each.
type server struct {
	script

	mu    sync.Mutex
	asked []string // the requests, in short
}

func (s *server) answer(_ int, req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.URL.Path == "/readyz" {
		return clienttest.Text(http.StatusOK, "text/plain", "ok"), nil
	}
	q := req.URL.Query()
	if q.Get("watch") == "true" {
		s.asked = append(s.asked, "watch from "+q.Get("resourceVersion"))
		next := s.watches[0]
		if len(s.watches) > 1 {
			s.watches = s.watches[1:]
		}
		return next(req), nil
	}
	s.asked = append(s.asked, strings.TrimSpace("list "+q.Get("continue")))
	next := s.lists[0]
	if len(s.lists) > 1 {
		s.lists = s.lists[1:]
	}
	return next(), nil
}

func page(at, next string, objects ...*unstructured.Unstructured) func() *http.Response {
	return func() *http.Response { return listOf(at, next, objects...) }
}

func refusal(code int, reason metav1.StatusReason) func() *http.Response {
	return func() *http.Response { return clienttest.Failure(code, reason, nil) }
}

func says(frames ...string) func(*http.Request) *http.Response {
	return func(req *http.Request) *http.Response { return silence(req, frames...) }
}

func closes(err error, frames ...string) func(*http.Request) *http.Response {
	return func(*http.Request) *http.Response { return streamOf(err, frames...) }
}

func TestWatch(t *testing.T) {
	expired := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}
	for name, tc := range map[string]struct {
		server script
		// within is the time within which want has to be reported.
		within time.Duration
		want   []string
		asked  []string
	}{
		"a list of two pages, and changes": {
			server: script{
				lists: []func() *http.Response{page("5", "more", clienttest.VersionOf("a", "1", "3")), page("5", "", clienttest.VersionOf("b", "2", "4"))},
				watches: []func(*http.Request) *http.Response{says(
					frameOf("ADDED", clienttest.VersionOf("c", "3", "6").Object), frameOf("MODIFIED", clienttest.VersionOf("a", "1", "7").Object),
					frameOf("DELETED", clienttest.VersionOf("b", "2", "8").Object), bookmark("9"))},
			},
			want:  []string{"a@3", "b@4", "synced", "c@6", "a@7", "-b(2)"},
			asked: []string{"list", "list more", "watch from 5"},
		},
		// edge case 50
		"a watch that ends is resumed": {
			server: script{
				lists: []func() *http.Response{page("5", "", clienttest.VersionOf("a", "1", "3"))},
				watches: []func(*http.Request) *http.Response{
					closes(nil, bookmark("9")), says(frameOf("MODIFIED", clienttest.VersionOf("a", "1", "10").Object)),
				},
			},
			within: time.Second,
			want:   []string{"a@3", "synced", "a@10"},
			asked:  []string{"list", "watch from 5", "watch from 9"},
		},
		// edge case 50
		"an expired version is listed again, and the deletions meanwhile are reported": {
			server: script{
				lists: []func() *http.Response{
					page("5", "", clienttest.VersionOf("a", "1", "3"), clienttest.VersionOf("b", "2", "4"), clienttest.VersionOf("c", "3", "5")),
					page("20", "", clienttest.VersionOf("a", "1", "3"), clienttest.VersionOf("c", "4", "19")),
				},
				watches: []func(*http.Request) *http.Response{closes(nil, frameOf("ERROR", expired)), says()},
			},
			within: time.Second,
			want:   []string{"a@3", "b@4", "c@5", "synced", "-c(3)", "c@19", "-b(2)", "synced"},
			asked:  []string{"list", "watch from 5", "list", "watch from 20"},
		},
		"a watch refused as too old before it begins": {
			server: script{
				lists: []func() *http.Response{page("5", ""), page("20", "")},
				watches: []func(*http.Request) *http.Response{
					func(*http.Request) *http.Response {
						return clienttest.Failure(http.StatusGone, metav1.StatusReasonGone, nil)
					}, says(),
				},
			},
			within: time.Second,
			want:   []string{"synced", "synced"},
			asked:  []string{"list", "watch from 5", "list", "watch from 20"},
		},
		"a list that expires between its pages": {
			server: script{
				lists: []func() *http.Response{
					page("5", "more", clienttest.VersionOf("a", "1", "3")), refusal(http.StatusGone, metav1.StatusReasonExpired),
					page("6", "", clienttest.VersionOf("a", "1", "3"), clienttest.VersionOf("b", "2", "4")),
				},
				watches: []func(*http.Request) *http.Response{says()},
			},
			want:  []string{"a@3", "b@4", "synced"},
			asked: []string{"list", "list more", "list", "watch from 6"},
		},
		// edge case 57
		"a broken connection is reported, and so is its recovery": {
			server: script{
				lists:   []func() *http.Response{page("5", "", clienttest.VersionOf("a", "1", "3"))},
				watches: []func(*http.Request) *http.Response{closes(io.ErrUnexpectedEOF), says()},
			},
			within: time.Second,
			want:   []string{"a@3", "synced", "unreadable", "synced"},
			asked:  []string{"list", "watch from 5", "watch from 5"},
		},
		"a connection that dies in silence": {
			server: script{
				lists: []func() *http.Response{page("5", "", clienttest.VersionOf("a", "1", "3"))},
				watches: []func(*http.Request) *http.Response{
					says(), says(frameOf("MODIFIED", clienttest.VersionOf("a", "1", "10").Object)),
				},
			},
			within: time.Minute,
			want:   []string{"a@3", "synced", "unreadable", "synced", "a@10"},
		},
		// edge case 50
		"a watch that is refused: the list is read again": {
			server: script{
				lists: []func() *http.Response{
					page("5", "", clienttest.VersionOf("a", "1", "3")), page("6", "", clienttest.VersionOf("a", "1", "6")), page("7", ""),
				},
				watches: []func(*http.Request) *http.Response{
					func(*http.Request) *http.Response {
						return clienttest.Failure(http.StatusForbidden, metav1.StatusReasonForbidden, nil)
					},
				},
			},
			within: 1500 * time.Millisecond,
			want:   []string{"a@3", "synced", "a@6", "synced", "-a(1)", "synced"},
			asked:  []string{"list", "watch from 5", "list", "list"},
		},
		// edge case 57
		"a busy server is reported at once": {
			server: script{
				lists: []func() *http.Response{
					refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable), page("5", ""),
				},
				watches: []func(*http.Request) *http.Response{says()},
			},
			within: 10 * time.Second,
			want:   []string{"unreadable", "synced"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{script: tc.server}
				c, _, _ := clienttest.New(t, s.answer)
				ctx, cancel := context.WithCancel(t.Context())
				var d diary
				ended := make(chan error, 1)
				go func() { ended <- c.Watch(ctx, clienttest.Watched(), object.Selection{Namespace: "prod"}, d.report) }()
				synctest.Wait()
				time.Sleep(tc.within)
				synctest.Wait()
				got := d.read()
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
				if diff := cmp.Diff(tc.want, got[:min(len(got), len(tc.want))]); diff != "" {
					t.Errorf("reported: -want +got\n%s", diff)
				}
				if diff := cmp.Diff(tc.asked, s.asked[:min(len(tc.asked), len(s.asked))]); tc.asked != nil && diff != "" {
					t.Errorf("asked: -want +got\n%s", diff)
				}
			})
		})
	}
}

func TestWatchEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		sel  object.Selection
		list func() *http.Response
		is   func(error) bool
	}{
		"no permission, and no name to get": {
			list: refusal(http.StatusForbidden, metav1.StatusReasonForbidden),
			is:   transport.Denied,
		},
		"a kind that is not served": {
			list: func() *http.Response { return clienttest.Text(http.StatusNotFound, "text/plain", "404 page not found") },
			is:   func(err error) bool { return errors.As(err, new(*client.NoKindError)) },
		},
		"a server that stays busy": {
			list: refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable),
			is:   func(err error) bool { return transport.StatusOf(err).Code == http.StatusServiceUnavailable },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{script: script{lists: []func() *http.Response{tc.list}}}
				c, _, _ := clienttest.New(t, s.answer)
				var d diary
				if err := c.Watch(t.Context(), clienttest.Watched(), tc.sel, d.report); !tc.is(err) {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// Edge case 50: get without list (k/k#78227).
func TestWatchByGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, _ := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
			switch {
			case !strings.HasSuffix(req.URL.Path, "/a"):
				return clienttest.Failure(http.StatusForbidden, metav1.StatusReasonForbidden, nil), nil
			case n == 1:
				return clienttest.Failure(http.StatusNotFound, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: "a"}), nil
			case n == 2:
				return clienttest.Reply(http.StatusOK, clienttest.VersionOf("a", "1", "3")), nil
			default:
				return clienttest.Reply(http.StatusOK, clienttest.VersionOf("a", "1", "4")), nil
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var d diary
		_ = c.Watch(ctx, clienttest.Watched(), object.Selection{Namespace: "prod", Name: "a"}, d.report)
		want := []string{"synced", "a@3", "synced", "a@4", "synced"}
		if diff := cmp.Diff(want, d.read()[:len(want)]); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if n := f.Count("GET /api/v1/namespaces/prod/configmaps/a"); n > 15 {
			t.Errorf("%d requests in 5 s", n)
		}
	})
}

func TestWatchSelects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var query, path string
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			query, path = req.URL.Query().Get("fieldSelector")+" "+req.URL.Query().Get("labelSelector"), req.URL.Path
			return clienttest.Failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, nil), nil
		})
		_ = c.Watch(t.Context(), clienttest.Watched(), object.Selection{Name: "a", Labels: "app in (x,y)", Fields: "data!=b"}, func(object.Change) {})
		if query != "metadata.name=a,data!=b app in (x,y)" || path != "/api/v1/configmaps" {
			t.Errorf("asked for %q of %s", query, path)
		}
	})
}

// Follow reads only metadata. It counts unchanged objects and does not list them. It resumes a
// watch that ends. If that is impossible, it begins again, which tells the caller that changes were
// missed.
func TestFollow(t *testing.T) {
	expired := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}
	synctest.Test(t, func(t *testing.T) {
		s := &server{script: script{
			lists: []func() *http.Response{page("5", "more", clienttest.VersionOf("a", "1", "3")), page("20", "", clienttest.VersionOf("a", "1", "3"))},
			watches: []func(*http.Request) *http.Response{
				closes(nil, frameOf("MODIFIED", clienttest.VersionOf("b", "2", "7").Object), bookmark("9")),
				closes(io.ErrUnexpectedEOF),
				closes(nil, frameOf("MODIFIED", clienttest.VersionOf("b", "2", "10").Object), frameOf("ERROR", expired)),
				says(frameOf("DELETED", clienttest.VersionOf("b", "2", "21").Object)),
			},
		}}
		c, _, _ := clienttest.New(t, s.answer)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var reported []string
		err := c.Follow(ctx, listwatch.Changes{
			Kind: clienttest.Watched(), Selection: object.Selection{Namespace: "prod"},
			Begun: func(objects int) { reported = append(reported, fmt.Sprintf("%d begun", objects)) },
			Changed: func(event, before string, o *metav1.PartialObjectMetadata) {
				reported = append(reported, fmt.Sprintf("%s %s %s@%s", event, before, o.Name, o.ResourceVersion))
			},
			Blind: func(err error) {
				if err != nil {
					reported = append(reported, "blind")
				}
			},
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
		want := []string{"1 begun", "MODIFIED 5 b@7", "blind", "MODIFIED 9 b@10", "1 begun", "DELETED 20 b@21"}
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Error(diff)
		}
		asked := []string{"list", "watch from 5", "watch from 9", "watch from 9", "list", "watch from 20"}
		if diff := cmp.Diff(asked, s.asked[:len(asked)]); diff != "" {
			t.Error(diff)
		}
	})
}
