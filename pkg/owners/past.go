package owners

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// NoWebhookError means that nothing in the cluster records owners.
type NoWebhookError struct{}

func (e *NoWebhookError) Error() string {
	return "k8sconnect's webhook, which records the history, is not installed"
}

func (e *NoWebhookError) Hint() string {
	return "install it to record takeovers and deletions from now on: " + build.Page("webhook.md#install")
}

// past caches the notes, which several histories need.
type past struct {
	reader Reader
	now    func() time.Time
	from   time.Time
	notes  *notes
}

func (p *past) history(ctx context.Context, u *unstructured.Unstructured, owned event.Owned) *event.History {
	record, err := readRecord(ctx, p.reader, object.RefOf(u), u.GetUID())
	if err != nil {
		return &event.History{Err: err}
	}
	if p.notes == nil {
		read := readNotes(ctx, p.reader)
		p.notes = &read
	}
	coverage, unknown := p.notes.coverage(u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetUID(), p.now())
	if unknown != nil {
		coverage.Unknown = unknown.Error()
	}
	coverage = coverage.For(u.GetCreationTimestamp().Time).For(p.from)
	h := &event.History{Dropped: record.Dropped, Lost: record.Lost, Coverage: coverage, From: p.from}
	for _, entry := range record.Entries {
		if about(entry.Path, owned) && !entry.Last.Time.Before(p.from) {
			h.Transitions = append(h.Transitions, transitionOf(entry))
		}
	}
	if len(h.Transitions) > 0 {
		return h
	}
	if err := cmp.Or(unknown, unvouched(coverage, onlyStatus(owned))); err != nil {
		return &event.History{Err: err}
	}
	return h
}

// Past returns the recorded history of all paths of an object.
func Past(ctx context.Context, reader Reader, now func() time.Time, u *unstructured.Unstructured) *event.History {
	return (&past{reader: reader, now: now}).history(ctx, u, event.Owned{})
}

// Recorded returns the transitions in the record of an object.
func Recorded(ctx context.Context, reader Reader, ref object.Ref, uid types.UID) ([]event.Transition, error) {
	record, err := readRecord(ctx, reader, ref, uid)
	var out []event.Transition
	for _, entry := range record.Entries {
		out = append(out, transitionOf(entry))
	}
	return out, err
}

// readRecord returns the record of an object. The record of a cluster-scoped object is in the
// webhook's namespace, which is unknown here, so readRecord searches all namespaces for it.
func readRecord(ctx context.Context, reader Reader, ref object.Ref, uid types.UID) (ownership.Record, error) {
	var record ownership.Record
	var found *unstructured.Unstructured
	var err error
	name := ownership.RecordName(ref.GVK.Kind, uid)
	if ref.Namespace != "" {
		found, err = reader.Read(ctx, object.Ref{GVK: ownership.RecordGVK(), Namespace: ref.Namespace, Name: name})
	} else {
		err = reader.Select(ctx, ownership.RecordGVK(), object.Selection{Name: name}, "",
			func(u *unstructured.Unstructured) { found = u })
	}
	switch {
	case meta.IsNoMatchError(err):
		return record, &NoWebhookError{}
	case apierrors.IsNotFound(err), err == nil && found == nil:
		return record, nil
	case err != nil:
		return record, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &record); err != nil {
		return record, fmt.Errorf("read %s: %w", object.RefOf(found), err)
	}
	return record, nil
}

// about reports whether a transition is at the selected path, or below or above it.
func about(text string, owned event.Owned) bool {
	if len(owned.Path) == 0 {
		return true
	}
	path, err := fieldpath.ParsePath(text)
	if err != nil { // It was truncated, or a newer version wrote it: show it.
		return true
	}
	for _, n := range owned.Fields {
		if path.HasPrefix(n.Path) {
			return true
		}
	}
	return path.HasPrefix(owned.Path) || owned.Path.HasPrefix(path)
}

func transitionOf(e ownership.Entry) event.Transition {
	return event.Transition{
		Path: e.Path, Kind: string(e.Kind), From: ownersOf(e.From), To: ownersOf(e.To), Cut: e.Cut,
		Forced: e.Forced, Gap: e.Gap, User: e.User, FromValue: e.FromValue, ToValue: e.ToValue,
		Count: e.Count, First: e.First.UTC(), Last: e.Last.UTC(),
	}
}

func ownersOf(holders []ownership.Holder) []managedfields.Owner {
	out := make([]managedfields.Owner, len(holders))
	for i, h := range holders {
		out[i] = managedfields.Owner{Manager: h.Manager, Operation: h.Operation, Subresource: h.Subresource, APIVersion: h.APIVersion}
	}
	return out
}

// The webhook keeps its note in a ConfigMap in its own namespace; [ownership.ScopeName] is a public
// copy.
const (
	trackerLabels = "k8sconnect.io/tracker=true"
	coverageKey   = "coverage"
	checkpointKey = "checkpoint"
	scopeKey      = "scope"
	namespaceKey  = "namespace"
)

// stale is the age at which a note shows that the webhook is down. The webhook writes a note every
// minute.
const stale = 3 * time.Minute

type note struct {
	namespace string
	scope     ownership.Scope
	// coverage has no gaps, because which of them count depends on the object.
	coverage event.Coverage
	gaps     []gap
}

type gap struct {
	event.Gap
	Of ownership.Affected `json:"of"`
}

// covering returns the coverage with the gaps that concern an object of one of the kinds; with an
// empty UID, any object.
func (n note) covering(uid types.UID, kinds ...schema.GroupKind) event.Coverage {
	return n.with(func(a ownership.Affected, kind schema.GroupKind) bool { return a.Concerns(kind, uid) }, kinds)
}

// with returns the coverage with the gaps that concern one of the kinds.
func (n note) with(concern func(ownership.Affected, schema.GroupKind) bool, kinds []schema.GroupKind) event.Coverage {
	c := n.coverage
	for _, g := range n.gaps {
		concerns := func(kind schema.GroupKind) bool { return concern(g.Of, kind) }
		switch last := len(c.Gaps) - 1; {
		case !slices.ContainsFunc(kinds, concerns):
		case last >= 0 && !g.From.After(c.Gaps[last].To):
			c.Gaps[last].To = latest(c.Gaps[last].To, g.To)
		default:
			c.Gaps = append(c.Gaps, g.Gap)
		}
	}
	return c
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

type notes struct {
	all []note
	err error
}

// readNotes reads the public copy or, because older webhooks publish nothing, the ConfigMaps that
// the user may list.
func readNotes(ctx context.Context, reader Reader) notes {
	var out notes
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	public, err := reader.Read(ctx, object.Ref{GVK: configMaps, Namespace: ownership.ScopeNamespace, Name: ownership.ScopeName})
	if err == nil {
		if n, noted, err := parseNote(public); err == nil && noted {
			return notes{all: []note{n}}
		}
	}
	err = reader.Select(ctx, configMaps, object.Selection{Labels: trackerLabels}, "", func(u *unstructured.Unstructured) {
		switch n, noted, err := parseNote(u); {
		case err != nil:
			out.err = &UnknownError{Reason: "cannot read the webhook's note in " + object.RefOf(u).String() + ": " + err.Error()}
		case noted:
			out.all = append(out.all, n)
		}
	})
	switch {
	case apierrors.IsForbidden(err):
		out.err = &UnknownError{
			Reason: "no permission to list ConfigMaps in all namespaces, where the webhook records what it watches",
			hint:   "with the chart's value tracking.publicScope, every user can read what the webhook watches",
		}
	case err != nil:
		out.err = &UnknownError{Reason: err.Error()}
	case len(out.all) == 0 && out.err == nil:
		out.err = &UnknownError{Reason: "the webhook has not recorded what it watches; is it running?"}
	}
	return out
}

// longest returns the note of the webhook that has been watching the longest, and false if there is
// none.
func (n notes) longest() (note, bool) {
	if len(n.all) == 0 {
		return note{}, false
	}
	return slices.MinFunc(n.all, func(a, b note) int { return a.coverage.Since.Compare(b.coverage.Since) }), true
}

// coverage returns the coverage of an object, including the time when its watch began. If
// this is unknown, the error gives the reason.
func (n notes) coverage(kind schema.GroupKind, namespace string, uid types.UID, now time.Time) (event.Coverage, error) {
	if len(n.all) == 0 {
		return event.Coverage{}, n.err
	}
	var best event.Coverage
	var omitted error
	for _, noted := range n.all {
		since, why := noted.scope.Of(kind, namespace)
		if why != ownership.OmissionNone {
			omitted = cmp.Or(omitted, newOmission(why, kind, namespace, noted.namespace))
			continue
		}
		c := noted.covering(uid, kind).From(since.UTC())
		if best.Since.IsZero() || c.Since.Before(best.Since) {
			best = c
		}
	}
	if best.Since.IsZero() {
		return event.Coverage{}, omitted
	}
	best.Stale = !best.Until.IsZero() && now.Sub(best.Until) > stale
	return best, nil
}

// parseNote returns the note in a ConfigMap. It returns false if there is no note, or if a backup
// tool copied the ConfigMap from another cluster.
func parseNote(u *unstructured.Unstructured) (n note, noted bool, err error) {
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	if data[coverageKey] == "" {
		return n, false, nil
	}
	n.namespace = cmp.Or(data[namespaceKey], u.GetNamespace())
	if n.coverage, n.gaps, err = parseCoverage(data[coverageKey]); err != nil {
		return n, false, err
	}
	var checkpoint struct {
		Of        string    `json:"of"`
		Heard     time.Time `json:"heard"`
		Resources map[string]struct {
			Time time.Time `json:"time"`
		} `json:"resources"`
	}
	for key, into := range map[string]any{checkpointKey: &checkpoint, scopeKey: &n.scope} {
		if data[key] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(data[key]), into); err != nil {
			return n, false, err
		}
	}
	if checkpoint.Of != "" && checkpoint.Of != string(u.GetUID()) {
		return n, false, nil
	}
	n.coverage.Until = checkpoint.Heard.UTC()
	for _, mark := range checkpoint.Resources { // An older webhook records only these times.
		if mark.Time.After(n.coverage.Until) {
			n.coverage.Until = mark.Time.UTC()
		}
	}
	return n, true, nil
}

// parseCoverage returns the coverage, and its gaps sorted by their beginning.
func parseCoverage(text string) (c event.Coverage, gaps []gap, err error) {
	var parsed struct {
		event.Coverage
		Gaps []gap `json:"gaps"`
	}
	if err := json.Unmarshal([]byte(text), &parsed); err != nil {
		return event.Coverage{}, nil, err
	}
	c = parsed.Coverage
	c.Since = c.Since.UTC()
	if c.Behind != nil {
		c.Behind.Since = c.Behind.Since.UTC()
		if c.Behind.Changes == 0 {
			c.Behind = nil
		}
	}
	for _, g := range parsed.Gaps {
		gaps = append(gaps, gap{event.Gap{From: g.From.UTC(), To: cmp.Or(g.To, g.From).UTC()}, g.Of})
	}
	slices.SortStableFunc(gaps, func(a, b gap) int { return a.From.Compare(b.From) })
	return c, gaps, nil
}
