package listwatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

const (
	// watchFor is how long the server should keep a watch open. It is short because a connection
	// may die silently, which we notice only when the watch does not end in time. Resuming a watch
	// costs little.
	watchFor  = 45 * time.Second
	watchLate = 5 * time.Second
)

var errTooOld = errors.New("the resourceVersion to watch from is too old")

// follow reports changes since version, and resumes a watch that ends. It returns errTooOld if the
// list must be read again.
func (w *watching) follow(ctx context.Context) error {
	pauses := pausesOfWatches()
	for {
		began := time.Now()
		err := w.watch(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && transport.Classify(err, transport.Request{}) == transport.Lost:
			w.unreadable(transport.CauseOf(err))
		case err != nil:
			return err
		}
		if time.Since(began) > quick {
			pauses = pausesOfWatches()
			continue
		}
		if err := retry.For(ctx, pauses.Step()); err != nil {
			return err
		}
	}
}

// A watch that ends sooner than this did not end because of its age. The reason may persist, so
// there is a pause before the next watch.
const quick = time.Second

func pausesOfWatches() wait.Backoff {
	return wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 100, Cap: 3 * time.Second}
}

func (w *watching) watch(ctx context.Context) error {
	length := watchFor
	if limit := w.source.REST.Client.Timeout; limit > 0 {
		length = max(time.Second, min(length, limit/2))
	}
	body, err := w.open(ctx, length)
	if TooOld(err) {
		return errTooOld
	}
	if err != nil {
		return err
	}
	defer body.end(nil)
	overdue := time.AfterFunc(length+watchLate, func() { body.end(transport.ErrNoAnswerInTime) })
	defer overdue.Stop()
	if w.blind {
		w.synced()
	}
	dec := json.NewDecoder(body)
	for {
		var frame frame
		switch err := dec.Decode(&frame); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return w.torn(body, err)
		}
		if err := w.onFrame(frame); err != nil {
			return err
		}
	}
}

func (w *watching) torn(body *stream, err error) error {
	switch {
	case body.Err() != nil:
		return transport.Broken(context.Cause(body))
	case errors.As(err, new(*json.SyntaxError)), errors.As(err, new(*json.UnmarshalTypeError)):
		w.unreadable(transport.Wrong("it cannot be read: %v", err))
		return errTooOld
	default:
		return err
	}
}

type stream struct {
	io.Reader
	context.Context
	end context.CancelCauseFunc
}

func (w *watching) open(ctx context.Context, length time.Duration) (*stream, error) {
	var s *stream
	err := w.do(ctx, func(attempt context.Context) error {
		ctx, end := context.WithCancelCause(transport.Carry(ctx, attempt))
		stop := context.AfterFunc(attempt, func() { end(context.Cause(attempt)) })
		body, err := w.collection().
			Param("watch", "true").
			Param("allowWatchBookmarks", "true").
			Param("resourceVersion", w.version).
			Param("timeoutSeconds", strconv.Itoa(int(length/time.Second))).
			Stream(ctx)
		if err == nil && stop() {
			context.AfterFunc(ctx, func() { _ = body.Close() })
			s = &stream{Reader: body, Context: ctx, end: end}
			return nil
		}
		end(nil)
		if attempt.Err() != nil {
			return context.DeadlineExceeded
		}
		return err
	})
	return s, err
}

type frame struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

func (w *watching) onFrame(f frame) error {
	if f.Type == "ERROR" {
		return w.broken(f.Object)
	}
	if w.changes != nil {
		return w.seeMetadata(f)
	}
	u, err := w.object(f)
	if err != nil {
		w.unreadable(err)
		return errTooOld
	}
	switch f.Type {
	case "ADDED", "MODIFIED":
		w.present(u)
	case "DELETED":
		w.deleted(u)
	default:
	}
	if version := u.GetResourceVersion(); version != "" {
		w.version = version
	}
	return nil
}

func (w *watching) object(f frame) (*unstructured.Unstructured, error) {
	u, err := transport.Any(f.Object)
	if err != nil {
		return nil, err
	}
	if u.GroupVersionKind() != w.kind.GVK {
		return nil, transport.Wrong("a watch of %s returned %s", w.kind.GVR().GroupResource(), transport.Describe(u))
	}
	switch f.Type {
	case "BOOKMARK":
		return u, nil
	case "ADDED", "MODIFIED", "DELETED":
		return u, transport.Check(u, w.kind)
	}
	return nil, transport.Wrong("a watch event has the unknown type %q", f.Type)
}

// broken handles an ERROR event. It reports the error unless the version expired. It returns
// errTooOld, because only a list can reveal the changes that we missed.
func (w *watching) broken(text []byte) error {
	var status metav1.Status
	if err := json.Unmarshal(text, &status); err != nil {
		w.unreadable(fmt.Errorf("watch: %w", err))
		return errTooOld
	}
	if err := error(&apierrors.StatusError{ErrStatus: status}); !TooOld(err) {
		w.unreadable(err)
	}
	return errTooOld
}
