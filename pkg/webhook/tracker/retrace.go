package tracker

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// maxRetraced bounds the objects of a kind whose versions are read one by one.
	maxRetraced = 4096
	// maxSteps bounds the versions that are read for one object.
	maxSteps = 256
	// retracedAtOnce is small, to spare the API server.
	retracedAtOnce = 4
)

var errIncomplete = errors.New("the server no longer has every version")

// retraced contains the objects of a list that have versions which were not seen, without their
// managed fields. After an API server restarts, it cannot watch from an earlier version, but etcd
// still has the versions of about five minutes. So they are read one by one, which leaves no gap.
type retraced map[types.UID]*metav1.PartialObjectMetadata

// canRetrace reports whether the server still has the state at the position.
func (f *follower) canRetrace(ctx context.Context) (bool, error) {
	f.mu.Lock()
	from, restored := f.watched.position().Version, f.restored
	f.mu.Unlock()
	if from == "" || restored {
		return false, nil
	}
	_, err := f.opts.Metadata.Resource(f.resource).List(ctx, metav1.ListOptions{Limit: 1, ResourceVersion: from, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if passing(err) {
		return false, err
	}
	return err == nil, nil
}

// collect returns false if the object need not or cannot be retraced.
func (f *follower) collect(o *metav1.PartialObjectMetadata) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.toRetrace == nil || !f.unseen(o) || len(f.toRetrace) >= maxRetraced {
		return false
	}
	f.keep(o.UID)
	small := &metav1.PartialObjectMetadata{}
	small.Namespace, small.Name, small.UID, small.ResourceVersion = o.Namespace, o.Name, o.UID, o.ResourceVersion
	f.toRetrace[o.UID] = small
	return true
}

// retrace reads the missing versions of the collected objects.
func (f *follower) retrace(ctx context.Context) error {
	all := f.toRetrace
	f.toRetrace = nil
	var reads errgroup.Group
	reads.SetLimit(retracedAtOnce)
	for _, o := range all {
		reads.Go(func() error { return f.retraceOne(ctx, o) })
	}
	return reads.Wait()
}

// retraceOne sees the missing versions of an object or, if the server no longer has all of them, its
// present version with a gap.
func (f *follower) retraceOne(ctx context.Context, o *metav1.PartialObjectMetadata) error {
	f.mu.Lock()
	from := f.watched.position().Version
	f.mu.Unlock()
	steps, err := f.steps(ctx, o, from)
	switch {
	case passing(err):
		return err
	case err != nil:
		now, err := f.single(ctx, o, metav1.ListOptions{}) // The webhook may list, but not get.
		if err != nil {
			return err
		}
		if now == nil || now.UID != o.UID {
			return nil // The watch will report that it was deleted.
		}
		f.do(func(s *state) []*pendingChange { return s.onObject(f.watched, now, true, time.Now()) })
		return nil
	}
	for _, step := range steps {
		// The oldest one may be the object at the position itself.
		gap := !object.Newer(step.ResourceVersion, from)
		f.do(func(s *state) []*pendingChange { return s.step(f.watched, step, gap, time.Now()) })
	}
	return nil
}

// passing reports whether an error says nothing about the versions, so that the list has to be read
// again. For example, a newly started API server forbids everything until it has read the RBAC rules.
func passing(err error) bool {
	return err != nil && !errors.Is(err, errIncomplete) && !tooOld(err) && !misunderstood(err)
}

// steps returns all versions of an object that were not seen, oldest first, including the given
// one. If the object is not remembered and is older than the position, the first one is its version
// at the position.
func (f *follower) steps(ctx context.Context, o *metav1.PartialObjectMetadata, from string) ([]*metav1.PartialObjectMetadata, error) {
	f.mu.Lock()
	was, known := f.watched.objects[o.UID]
	f.mu.Unlock()
	listed, err := f.exact(ctx, o, o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if listed == nil || listed.UID != o.UID || listed.ResourceVersion != o.ResourceVersion {
		return nil, errIncomplete
	}
	steps := []*metav1.PartialObjectMetadata{listed}
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
	found, err := f.single(ctx, o, metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if err == nil && found != nil && object.Newer(found.ResourceVersion, version) { // The server does not list exactly.
		return nil, errIncomplete
	}
	return found, err
}

// single lists one object. It returns nil if the object does not exist.
func (f *follower) single(ctx context.Context, o *metav1.PartialObjectMetadata, opts metav1.ListOptions) (*metav1.PartialObjectMetadata, error) {
	opts.FieldSelector = "metadata.name=" + o.Name
	page, err := f.opts.Metadata.Resource(f.resource).Namespace(o.Namespace).List(ctx, opts)
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		if found := &page.Items[i]; found.Name == o.Name {
			return found, versioned(found.ResourceVersion)
		}
	}
	return nil, nil //nolint:nilnil // It does not exist.
}
