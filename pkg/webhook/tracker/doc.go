// Package tracker sees every change of owners in a cluster, and says it once: it
// watches the metadata of all kinds, remembers who owns what of each object, and
// compares what comes with what it remembers.
//
//	t, err := tracker.New(tracker.Options{Metadata: m, Discovery: d, ConfigMaps: c, Sink: recorder})
//	go t.Run(ctx)
//	t.Hint(hint)    // admission saw who writes; it joins the change that it led to
//	t.Lead(true)    // this replica stores the checkpoint, and records what nobody saw
//
// What it cannot do is hidden nowhere. Between two versions that it did not see
// one by one it reports what changed in all, marked as a gap; for objects that it
// had not remembered it tells the sink to compare; and both are declared, as spans
// of time, beside the checkpoint.
//
// It watches by hand and not with client-go's Reflector, which after most errors
// lists anew where it could go on, and so would hide transitions; nor with its
// RetryWatcher, which keeps bookmarks to itself and repeats a watch whose version
// is too old for ever.
//
// It does not write records (pkg/webhook/recorder does), does not answer admission, and
// does not elect a leader.
package tracker
