// Package tracker sees every change of owners in a cluster, and reports it once: it
// watches the metadata of all kinds, remembers each object's owners, and compares new
// versions with them.
//
//	t, err := tracker.New(tracker.Options{Metadata: m, Discovery: d, ConfigMaps: c, Sink: recorder})
//	go t.Run(ctx)
//	t.Hint(hint)    // admission saw the user; the hint joins the change that it led to
//	t.Lead(true)    // this replica stores the checkpoint, and records changes without a hint
//
// It hides nothing that it cannot do. If it missed versions, it reports what changed
// between the two that it saw, marked as a gap; for objects that it did not remember, it
// has the sink compare; and it declares both, as spans of time, beside the checkpoint.
//
// It watches by hand. client-go's Reflector lists anew after most errors, even where the
// watch could resume, and so would hide transitions; its RetryWatcher keeps bookmarks to
// itself and forever repeats a watch whose version is too old.
//
// It does not write records (pkg/webhook/recorder does), does not answer admission, and
// does not elect a leader.
package tracker
