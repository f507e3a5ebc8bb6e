package fights

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fights"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// patience bounds the time to start the watches, and the time for the reads at the end.
	patience = 15 * time.Second
	// late is the time to wait for the last events.
	late = time.Second
	// readWhole limits how many objects are read in full.
	readWhole = 10
	// readBefore limits the number of objects whose state before the first change is read.
	readBefore = 300
	sideBySide = 6
	shownLive  = 10
)

type watch struct {
	*options
	server *client.Client
	where  string
	all    []target.Target
	unread []event.Unread
	// written counts the API server's writes during the watch.
	took      time.Duration
	written   map[schema.GroupResource]int
	uncounted error
	unclear   int

	mu    sync.Mutex
	tally *fights.Tally
	seen  []*seen
}

type seen struct {
	target.Target
	objects, begun int
	// late means that the watch did not start in time.
	late, gone bool
	err        error
}

func (w *watch) places(ctx context.Context, in verb.Invocation) error {
	own, _, err := in.Namespace()
	if err != nil {
		return err
	}
	if !w.targets.Everywhere {
		w.where = own
		if missing := target.MissingNamespace(ctx, w.server, own); missing != "" {
			w.out.Print(event.Warned{Text: missing})
		}
	}
	if !w.everything {
		w.all, err = w.targets.Resolve(ctx, in.Connection, w.server)
		return err
	}
	kinds, err := w.server.Listable(ctx)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		// Objects that cannot be written, such as metrics, are computed for each read.
		written := slices.ContainsFunc(kind.Verbs, func(v string) bool { return v == "update" || v == "patch" })
		if written && (kind.Namespaced || w.where == "") && (w.status || !apart(kind.GVK.Group, kind.Resource)) {
			w.all = append(w.all, target.Target{Kind: kind, Selection: object.Selection{Namespace: w.where, Labels: w.targets.Labels}})
		}
	}
	silent, err := w.server.Unanswered(ctx)
	for _, gv := range silent {
		if !strings.HasSuffix(gv.Group, "metrics.k8s.io") {
			w.unread = append(w.unread, event.Unread{Ref: object.Ref{GVK: gv.WithKind("")}, Err: errSilent})
		}
	}
	return err
}

var errSilent = errors.New("the server of this API does not answer")

func (w *watch) follow(ctx context.Context) error {
	watching, end := context.WithCancel(ctx)
	var watches, beginning sync.WaitGroup
	defer watches.Wait()
	defer end()
	w.out.Print(event.Preparing{Text: "beginning to watch " + text.Count(len(w.all), "kind")})
	for _, t := range w.all {
		s := &seen{Target: t}
		w.seen = append(w.seen, s)
		beginning.Add(1)
		watches.Go(func() { w.watchKind(watching, s, sync.OnceFunc(beginning.Done)) })
	}
	begun := make(chan struct{})
	go func() { beginning.Wait(); close(begun) }()
	select {
	case <-begun:
	case <-time.After(patience):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w.mu.Lock()
	for _, s := range w.seen {
		s.late = s.begun == 0
	}
	w.mu.Unlock()
	before, err := w.count(ctx)
	start := time.Now()
	w.wait(ctx, start)
	w.took = time.Since(start)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil && before != nil {
		w.written, err = w.counted(ctx, before)
	}
	w.uncounted = err
	w.out.Print(event.Preparing{Text: "reading the busiest objects"})
	w.pause(ctx, late)
	return nil
}

func (w *watch) wait(ctx context.Context, start time.Time) {
	const every = 2 * time.Second
	for end := start.Add(w.duration); time.Now().Before(end) && ctx.Err() == nil; {
		w.mu.Lock()
		var found []event.Fight
		if w.live {
			found = w.tally.Result()
		}
		objects := 0
		for _, s := range w.seen {
			objects += s.objects
		}
		w.mu.Unlock()
		e := event.Preparing{Text: "watching " + text.Count(objects, "object"), Since: start, Within: w.duration}
		for _, f := range found[:min(len(found), shownLive)] {
			e.Found = append(e.Found, format.FightName(f)+"  "+format.FightRate(f, time.Since(start)))
		}
		w.out.Print(e)
		w.pause(ctx, min(every, time.Until(end)))
	}
}

func (w *watch) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

var errMissed = errors.New("the watch was interrupted, and changes were missed")

func (w *watch) watchKind(ctx context.Context, s *seen, begun func()) {
	defer begun()
	note := func(change func()) {
		w.mu.Lock()
		defer w.mu.Unlock()
		change()
	}
	err := error(nil)
	if !slices.Contains(s.Kind.Verbs, "watch") {
		err = errors.New("the server does not support watching it")
	} else {
		err = w.server.Follow(ctx, listwatch.Changes{
			Kind: s.Kind, Selection: s.Selection,
			Begun: func(objects int) {
				note(func() { s.objects, s.begun = max(s.objects, objects), s.begun+1 })
				begun()
			},
			Changed: func(typ, before string, o *metav1.PartialObjectMetadata) {
				note(func() {
					w.tally.See(fights.Change{Event: typ, Kind: s.Kind, Before: before, At: time.Now(), Object: o})
				})
			},
			Blind: func(err error) { note(func() { s.err = err }) },
		})
	}
	_, gone := errors.AsType[*client.NoKindError](err)
	switch {
	case ctx.Err() != nil:
	case gone && w.everything: // A deleted kind has no objects.
		note(func() { s.gone = true })
	default:
		note(func() { s.err = err })
	}
}

// explain reads details that the metadata of changes does not show.
func (w *watch) explain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reader := w.server.NoRetry()
	w.mu.Lock()
	baselines := w.tally.Baselines(readBefore)
	w.mu.Unlock()
	w.read(ctx, reader, baselines, true)
	w.mu.Lock()
	whole, beyond := w.tally.Unexplained(readWhole)
	w.mu.Unlock()
	w.read(ctx, reader, whole, false)
	w.unclear += beyond
}

func (w *watch) read(ctx context.Context, reader *client.NoRetry, readings []fights.Reading, metadata bool) {
	var group errgroup.Group
	group.SetLimit(sideBySide)
	for _, r := range readings {
		group.Go(func() error {
			states := make([]*unstructured.Unstructured, len(r.Versions))
			var errs error
			for i, version := range r.Versions {
				var err error
				states[i], err = reader.GetAt(ctx, r.Kind, r.Ref, version, metadata)
				errs = errors.Join(errs, err)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if errs != nil && !listwatch.TooOld(errs) { // It is not an error if the server no longer keeps a version.
				w.unclear++
			}
			if !metadata {
				w.tally.Learn(r, states)
				return nil
			}
			var before metav1.PartialObjectMetadata
			if states[0] == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(states[0].Object, &before) != nil {
				return nil
			}
			w.tally.Baseline(r.UID, &before)
			return nil
		})
	}
	_ = group.Wait()
}

// complete adds facts from other sources. It ignores errors, because the result is useful without
// these facts.
func (w *watch) complete(ctx context.Context, found []event.Fight) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	read := 0
	for i := range found {
		f := &found[i]
		if f.Class == event.NotStored {
			f.Ref = w.onlyObject(ctx, f.Ref)
			continue
		}
		if len(f.Paths) == 0 || read == readWhole {
			continue
		}
		read++
		recorded, err := owners.Recorded(ctx, w.server, f.Ref, f.UID)
		if err != nil { // No webhook, or no permission to read its records.
			read = readWhole
			continue
		}
		for j := range f.Paths {
			f.Paths[j].Recorded = history(recorded, f.Paths[j].Path.String())
		}
	}
}

// history merges the transitions of a path. There is one transition for each pair of owners.
func history(recorded []event.Transition, path string) *event.Transition {
	var out *event.Transition
	for _, t := range recorded {
		if t.Path != path {
			continue
		}
		if out != nil {
			t.Count += out.Count
			t.First = out.First
		}
		out = &t
	}
	return out
}

func (w *watch) onlyObject(ctx context.Context, kind object.Ref) object.Ref {
	at := slices.IndexFunc(w.seen, func(s *seen) bool { return s.Kind.GVK == kind.GVK })
	if w.seen[at].objects != 1 {
		return kind
	}
	only := kind
	objects := 0
	err := w.server.Select(ctx, kind.GVK, w.seen[at].Selection, "", func(u *unstructured.Unstructured) {
		only = object.RefOf(u)
		objects++
	})
	if err != nil || objects != 1 {
		return kind
	}
	return only
}

func (w *watch) result() event.Fights {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := event.Fights{Found: w.tally.Result(), For: w.took, Namespace: w.where, Unclear: w.unclear, Uncounted: w.uncounted, Unread: w.unread}
	objects := map[schema.GroupResource]int{}
	var kinds []object.Kind
	for _, s := range w.seen {
		switch {
		case s.err != nil:
		case s.late && !s.gone, s.begun > 1:
			s.err = errMissed
		case s.Name != "" && s.objects == 0:
			s.err = apierrors.NewNotFound(s.Kind.GVR().GroupResource(), s.Name)
		}
		if s.err != nil {
			out.Unread = append(out.Unread, event.Unread{Ref: object.Ref{GVK: s.Kind.GVK, Namespace: s.Namespace, Name: s.Name}, Err: s.err})
		}
		if s.err != nil || s.gone { // The kind was not watched to the end, so writes without an event may have been stored.
			continue
		}
		out.Objects += s.objects
		kinds = append(kinds, s.Kind)
		objects[s.Kind.GVR().GroupResource()] += s.objects
	}
	if w.written != nil {
		var idle []event.Fight
		idle, out.Unstored = w.tally.Unstored(kinds, objects, w.written, w.took)
		out.Found = append(out.Found, idle...)
	}
	return out
}
