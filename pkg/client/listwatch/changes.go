package listwatch

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Changes follows changes to the metadata of objects. Unchanged objects are counted but not listed.
type Changes struct {
	Kind      object.Kind
	Selection object.Selection
	// Begun is called when a watch begins, with the number of objects. Each call after the first
	// means that changes were missed.
	Begun func(objects int)
	// Changed is called for each change, with the type of the event (event), and the latest
	// resource version that preceded the change (before). Changed may keep the object.
	Changed func(event, before string, o *metav1.PartialObjectMetadata)
	// Blind is called with an error when changes cannot be read, and with nil once they can.
	Blind func(error)
}

// Follow calls the functions of c until ctx is done, or until an error occurs that retrying cannot
// fix. It never calls them concurrently.
func (s *Source) Follow(ctx context.Context, c Changes) error {
	w := &watching{source: s, kind: c.Kind, sel: c.Selection, changes: &c}
	w.report = func(change object.Change) {
		switch change := change.(type) {
		case object.Unreadable:
			c.Blind(change.Err)
		case object.Synced:
			c.Blind(nil)
		}
	}
	pauses := pausesOfWatches()
	for {
		if err := w.count(ctx); err != nil {
			return err
		}
		began := time.Now()
		err := w.follow(ctx)
		switch {
		case !errors.Is(err, errTooOld):
			return err
		case time.Since(began) > quick:
			pauses = pausesOfWatches()
		default:
			if err := retry.For(ctx, pauses.Step()); err != nil {
				return err
			}
		}
	}
}

// count requests a page of one object. The response says how many more there are and which version
// to watch from.
func (w *watching) count(ctx context.Context) error {
	n := 0
	l := &List{
		Kind: w.kind, Size: 1, Do: w.do,
		Build: func() *rest.Request { return MetadataOnly(Collection(w.source.REST, w.kind, w.sel)) },
		Begin: func() { n = 0 },
		Item:  func([]byte) error { n++; return nil },
		More:  func(metav1.ListMeta) (int, bool) { return 0, false },
	}
	if w.sel.Narrowed() { // Then the server does not say how many more there are.
		l.Size, l.More = UsualPage, nil
	}
	page, err := l.Read(ctx)
	if err != nil {
		return err
	}
	w.version = page.ResourceVersion
	if page.RemainingItemCount != nil {
		n += int(*page.RemainingItemCount)
	}
	w.changes.Begun(n)
	w.synced()
	return nil
}

func (w *watching) seeMetadata(f frame) error {
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(f.Object, &o); err != nil || o.ResourceVersion == "" {
		w.unreadable(transport.Wrong("a watch event for %s cannot be read", w.kind.GVR().GroupResource()))
		return errTooOld
	}
	if f.Type != "BOOKMARK" {
		w.changes.Changed(f.Type, w.version, &o)
	}
	w.version = o.ResourceVersion
	return nil
}
