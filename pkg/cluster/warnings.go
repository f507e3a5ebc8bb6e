package cluster

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// refKey is under which a request's context carries the object it is about.
type refKey struct{}

func withRef(ctx context.Context, ref object.Ref) context.Context {
	return context.WithValue(ctx, refKey{}, ref)
}

// warnings gives each warning of the server the object of its request. A handler
// that remembers the object in a field would give it to whichever object asked
// last (edge case 34).
type warnings struct {
	tell func(object.Ref, string)

	mu   sync.Mutex
	told map[warning]bool
}

type warning struct {
	ref  object.Ref
	text string
}

// miscWarning is the code of all warnings that the API server sends.
const miscWarning = 299

// HandleWarningHeaderWithContext tells of a warning, once for each object: a dry
// run and the write after it warn of the same.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if code != miscWarning || text == "" {
		return
	}
	ref, _ := ctx.Value(refKey{}).(object.Ref)
	w.mu.Lock()
	if w.told == nil {
		w.told = map[warning]bool{}
	}
	key := warning{ref, text}
	again := w.told[key]
	w.told[key] = true
	w.mu.Unlock()
	if !again {
		w.tell(ref, text)
	}
}

// auditIDs numbers the requests of a run.
func auditIDs(run string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		if run == "" {
			return next
		}
		return &auditor{next: next, run: run}
	}
}

type auditor struct {
	next http.RoundTripper
	run  string
	sent atomic.Int64
}

func (a *auditor) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context()) // A RoundTripper must not change its request.
	req.Header.Set("Audit-ID", a.run+"-"+strconv.FormatInt(a.sent.Add(1), 10))
	return a.next.RoundTrip(req)
}
