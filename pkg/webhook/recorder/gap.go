package recorder

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Live returns the owners of an object, the resource version at which they hold,
// and whether the object exists.
type Live = func(uid types.UID) (owners ownership.Owners, resourceVersion string, ok bool)

// Gap compares all records with the live owners, after a period that was not
// watched, and writes the net changes as transitions marked as a gap. It returns
// when they are written. The error names the records that could not be written;
// calling it again does no harm.
func (r *Recorder) Gap(ctx context.Context, live Live) error {
	var changed []ownership.Object
	err := r.writer.store.List(ctx, func(record *ownership.Record) error {
		if r.writer.isOurs(record) && r.addNet(record.DeepCopy(), live) {
			changed = append(changed, record.Object)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range changed {
		if err := r.await(ctx); err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, r.writeNet(ctx, o, live))
	}
	return errors.Join(errs...)
}

// writeNet writes the net changes of one object, after all that is known of it.
func (r *Recorder) writeNet(ctx context.Context, o ownership.Object, live Live) error {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	var b batch
	r.locked(func(q *queue) { b = q.takeOf(o) })
	return r.write(ctx, b, func(record *ownership.Record) bool { return r.addNet(record, live) })
}

// addNet adds to a record the changes between its last owners and the live ones.
// Owners that cannot be read cannot be compared.
func (r *Recorder) addNet(record *ownership.Record, live Live) bool {
	owners, version, ok := live(record.Object.UID)
	if !ok {
		return false
	}
	transitions, err := record.Net(owners)
	if err != nil {
		if r.opts.Log != nil {
			r.opts.Log.Warn("owners after a gap are not recorded", "object", name(record.Object), "error", err)
		}
		return false
	}
	changed := false
	at := ownership.Occasion{ResourceVersion: version, Time: time.Now(), Gap: true}
	for _, t := range transitions {
		changed = record.Add(t, at) || changed
	}
	return changed
}
