package tracker

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// maxRetraced bounds the objects, and with them the memory, whose versions are read one by one.
	maxRetraced = 256
	// maxSteps bounds the versions that are read for one object.
	maxSteps = 256
)

var errIncomplete = errors.New("the server no longer has every version")

// retraced collects the objects of a list that have versions which were not seen. After an API
// server restarts, it cannot watch from an earlier version, but etcd still has the versions of about
// five minutes. So they are read one by one, which leaves no gap.
type retraced struct {
	objects map[string]*metav1.PartialObjectMetadata
}

// collect returns false if the object need not or cannot be retraced.
func (f *follower) collect(o *metav1.PartialObjectMetadata) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.toRetrace == nil || f.watched.at().Version == "" || f.restored || !f.unseen(o) || len(f.toRetrace.objects) >= maxRetraced {
		return false
	}
	f.keep(o.UID)
	f.toRetrace.objects[string(o.UID)] = o
	return true
}

// retrace reads the missing versions of the collected objects. An object with a version that the
// server no longer has is seen with a gap.
func (f *follower) retrace(ctx context.Context) error {
	all := f.toRetrace.objects
	f.toRetrace = nil
	if len(all) == 0 {
		return nil
	}
	f.mu.Lock()
	from := f.watched.at().Version
	f.mu.Unlock()
	_, err := f.opts.Metadata.Resource(f.resource).List(ctx, metav1.ListOptions{Limit: 1, ResourceVersion: from, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if passing(err) {
		return err
	}
	kept := err == nil
	for _, o := range all {
		var steps []*metav1.PartialObjectMetadata
		if err = errIncomplete; kept {
			steps, err = f.steps(ctx, o, from)
		}
		switch {
		case passing(err):
			return err
		case err != nil:
			f.present(o, true)
			continue
		}
		for _, step := range steps {
			// The oldest one may be the object at the position itself.
			gap := !object.Newer(step.ResourceVersion, from)
			f.do(func(s *state) []*pendingChange { return s.step(f.watched, step, gap, time.Now()) })
		}
	}
	return nil
}

// passing reports whether an error says nothing about the versions, so that the list is worth
// reading again.
func passing(err error) bool {
	return err != nil && !errors.Is(err, errIncomplete) && (apierrors.ReasonForError(err) == metav1.StatusReasonUnknown ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err))
}

// steps returns all versions of an object that were not seen, oldest first, including the given
// one. If the object is not remembered and is older than the position, the first one is its version
// at the position.
func (f *follower) steps(ctx context.Context, o *metav1.PartialObjectMetadata, from string) ([]*metav1.PartialObjectMetadata, error) {
	f.mu.Lock()
	was, known := f.watched.objects[o.UID]
	f.mu.Unlock()
	steps := []*metav1.PartialObjectMetadata{o}
	for len(steps) < maxSteps {
		at, err := strconv.ParseUint(steps[len(steps)-1].ResourceVersion, 10, 64)
		if err != nil || at == 0 {
			return nil, errIncomplete
		}
		earlier, err := f.exact(ctx, o, strconv.FormatUint(at-1, 10))
		switch {
		case err != nil:
			return nil, err
		case known && earlier != nil && earlier.ResourceVersion == was.version:
			slices.Reverse(steps)
			return steps, nil
		case known && (earlier == nil || !object.Newer(earlier.ResourceVersion, was.version)):
			return nil, errIncomplete
		case earlier == nil || earlier.UID != o.UID: // It was created.
			slices.Reverse(steps)
			return steps, nil
		}
		if steps = append(steps, earlier); !known && !object.Newer(earlier.ResourceVersion, from) {
			slices.Reverse(steps)
			return steps, nil
		}
	}
	return nil, errIncomplete
}

// exact returns an object as it was at a version, or nil if it did not exist.
func (f *follower) exact(ctx context.Context, o *metav1.PartialObjectMetadata, version string) (*metav1.PartialObjectMetadata, error) {
	page, err := f.opts.Metadata.Resource(f.resource).Namespace(o.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + o.Name, ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		found := &page.Items[i]
		switch {
		case found.Name != o.Name:
		case found.ResourceVersion == "" || object.Newer(found.ResourceVersion, version): // The server does not list exactly.
			return nil, errIncomplete
		default:
			return found, nil
		}
	}
	return nil, nil //nolint:nilnil // It did not exist.
}
