package tracker

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// follower sees all changes of the objects of one kind.
type follower struct {
	*Tracker
	*watched
	// first is set until the first list was read or refused, for kinds that were there at the
	// start.
	first bool
	// lost is set if history cannot be resumed, until everything is listed.
	lost bool
	// noted is set once a refusal to watch the kind was logged.
	noted bool
	// Features that the server does not have.
	unstreamed, unselected bool
	// worked is set once a watch has lasted.
	worked bool
}

func (f *follower) position() position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// listedOnce records that nothing waits for this kind any more.
func (f *follower) listedOnce() {
	if !f.first {
		return
	}
	f.first = false
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending--
	f.ready.Store(f.pending <= 0)
}

// refuse records that a kind may not be watched, and logs a lasting refusal once.
func (f *follower) refuse(err error, lasts bool) {
	f.setRefused(true)
	if lasts && !f.noted {
		f.noted = true
		f.opts.Log.Info("not tracked", "resource", f.resource.String(), "error", err.Error())
	}
}

func (f *follower) setRefused(refused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = refused
}

// kindsMayChange triggers a discovery of kinds, if this kind is about kinds.
func (f *follower) kindsMayChange() {
	if !affects(f.resource.GroupResource()) {
		return
	}
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// permissionsMayChange wakes refused followers if this is a role that decides what may be
// tracked. Without it, a newly permitted kind would be found minutes later; retrying all
// of them more often would mean thousands of refusals an hour, in the audit log too.
func (f *follower) permissionsMayChange(o *metav1.PartialObjectMetadata) {
	if _, ok := o.Labels[permissionsLabel]; ok && f.resource.Group == "rbac.authorization.k8s.io" {
		f.permissions.wake()
	}
}

// selector excludes namespaces at the server, if that is possible.
func (f *follower) selector() string {
	if !f.namespaced || f.unselected {
		return ""
	}
	terms := make([]string, len(f.opts.ExcludeNamespaces))
	for i, namespace := range f.opts.ExcludeNamespaces {
		terms[i] = "metadata.namespace!=" + namespace
	}
	return strings.Join(terms, ",")
}

// present reports an existing object, unless its namespace is left out.
func (f *follower) present(o *metav1.PartialObjectMetadata, list bool) {
	if f.namespaced && slices.Contains(f.opts.ExcludeNamespaces, o.Namespace) {
		return
	}
	f.do(func(s *state) []*pendingChange { return s.see(f.watched, o, list, time.Now()) })
}
