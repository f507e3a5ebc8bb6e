package owners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Query selects recorded ownership changes. The zero value selects all of them.
type Query struct {
	// Places are the selected kinds; nil selects all kinds in Namespace. An empty namespace also
	// selects cluster-scoped objects.
	Places    []Place
	Namespace string
	// From is the start of the period; a zero time means no limit.
	From time.Time
	// Managers selects the changes in which one of these managers gained or lost a path; nil
	// selects all.
	Managers []string
	// Path selects a field, together with the fields above and below it; nil selects all fields.
	Path fieldpath.Pattern
	// gone selects deletions, and name those of objects with a name.
	gone bool
	name string
}

// Place is a kind in a namespace.
type Place struct {
	Kind      schema.GroupKind
	Namespace string
}

// Changes reads the changes that the webhook recorded. It returns an error along with the result if
// a record cannot be decoded, or if the result is empty and this does not prove that nothing
// changed.
func (q Query) Changes(ctx context.Context, reader Reader, now time.Time) (event.PastChanges, error) {
	out := event.PastChanges{From: q.From}
	records := map[object.Ref]ownership.Record{}
	var faults []error
	err := reader.Select(ctx, ownership.RecordGVK(), object.Selection{Namespace: q.Within()}, "", func(u *unstructured.Unstructured) {
		var r ownership.Record
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &r); err != nil {
			faults = append(faults, fmt.Errorf("read %s: %w", object.RefOf(u), err))
		} else if q.concerns(r.Object) {
			records[object.RefOf(u)] = r
		}
	})
	switch {
	case meta.IsNoMatchError(err):
		return out, &NoWebhookError{}
	case err != nil:
		return out, err
	}
	for _, r := range records {
		q.add(&out, r)
	}
	slices.SortStableFunc(out.Changes, func(a, b event.ObjectTransition) int {
		return cmp.Or(b.Last.Compare(a.Last), a.Ref.Compare(b.Ref), strings.Compare(a.Path, b.Path))
	})
	unknown := q.cover(ctx, reader, &out, readNotes(ctx, reader), now)
	if len(out.Changes) == 0 {
		status := fieldpath.Field("status")
		onlyStatus := len(q.Path) > 0 && q.Path[0].Equals(status[0])
		faults = append(faults, cmp.Or(unknown, unvouched(out.Coverage, onlyStatus)))
	}
	return out, errors.Join(faults...)
}

// Within returns the namespace of all selected objects, or "" if they are in several, or cluster-scoped. Its
// records are listed. The records of cluster-scoped objects are in the webhook's namespace, which is unknown
// here, so all namespaces are listed for them.
func (q Query) Within() string {
	if len(q.Places) == 0 {
		return q.Namespace
	}
	for _, p := range q.Places[1:] {
		if p.Namespace != q.Places[0].Namespace {
			return ""
		}
	}
	return q.Places[0].Namespace
}

func (q Query) concerns(o ownership.Object) bool {
	if q.Places == nil {
		return q.Namespace == "" || q.Namespace == o.Namespace
	}
	kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
	return slices.ContainsFunc(q.Places, func(p Place) bool {
		return p.Kind == kind && (p.Namespace == "" || p.Namespace == o.Namespace)
	})
}

func (q Query) add(out *event.PastChanges, r ownership.Record) {
	ref := object.Ref{GVK: schema.FromAPIVersionAndKind(r.Object.APIVersion, r.Object.Kind), Namespace: r.Object.Namespace, Name: r.Object.Name}
	for _, e := range slices.Backward(r.Entries) { // The latest is the last.
		t := transitionOf(e)
		if !t.Last.Before(q.From) && q.names(t) {
			out.Changes = append(out.Changes, event.ObjectTransition{Ref: ref, Transition: t})
		}
	}
	// The dropped transitions are older than all those that were kept.
	if len(r.Entries) == 0 || !r.Entries[0].Last.Time.Before(q.From) {
		out.Dropped += r.Dropped
	}
	out.Lost += r.Lost
}

func (q Query) names(t event.Transition) bool {
	isAsked := func(o managedfields.Owner) bool { return slices.Contains(q.Managers, o.Manager) }
	if q.Managers != nil && !slices.ContainsFunc(t.From, isAsked) && !slices.ContainsFunc(t.To, isAsked) {
		return false
	}
	path, err := fieldpath.ParsePath(t.Path)
	return q.Path == nil || err != nil || q.Path.Touches(path)
}

// created returns when the namespace was created, because earlier gaps concern none of its objects.
// It returns a zero time if the query is not about one namespace, or if the user may not read it.
func (q Query) created(ctx context.Context, reader Reader) time.Time {
	name := q.Within()
	if name == "" {
		return time.Time{}
	}
	namespace, err := reader.Read(ctx, object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: name})
	if err != nil || namespace == nil {
		return time.Time{}
	}
	return namespace.GetCreationTimestamp().Time
}

// A history counts as complete if its watch began at most atOnce after the webhook's start.
const atOnce = time.Minute

// cover sets the coverage and its limits. It returns an error if no note can be read or if none of
// the places is watched, because an empty result would then prove nothing.
func (q Query) cover(ctx context.Context, reader Reader, out *event.PastChanges, n notes, now time.Time) error {
	noted, ok := n.longest()
	if !ok {
		out.Coverage.Unknown = n.err.Error()
		return n.err
	}
	places := q.Places
	if places == nil {
		for _, kind := range noted.scope.All() {
			places = append(places, Place{schema.ParseGroupKind(kind), q.Namespace})
		}
	}
	var kinds []schema.GroupKind
	for _, p := range places {
		kinds = append(kinds, p.Kind)
	}
	concern := func(a ownership.Affected, kind schema.GroupKind) bool { return a.Concerns(kind, "") }
	if q.gone {
		concern = ownership.Affected.ConcernsDeletions
	}
	out.Coverage = noted.with(concern, kinds).For(latest(q.From, q.created(ctx, reader)))
	out.Coverage.Stale = !out.Coverage.Until.IsZero() && now.Sub(out.Coverage.Until) > stale
	omitted, later := map[ownership.Omission][]string{}, map[time.Time][]string{}
	var first time.Time
	var unknown error
	for _, p := range places {
		since, why := noted.scope.Of(p.Kind, p.Namespace)
		if why != ownership.OmissionNone {
			omitted[why] = append(omitted[why], p.Kind.String())
			unknown = cmp.Or(unknown, newOmission(why, p.Kind, p.Namespace, noted.namespace))
			continue
		}
		later[since] = append(later[since], p.Kind.String())
		if first.IsZero() || since.Before(first) {
			first = since
		}
	}
	if first.IsZero() {
		unknown = cmp.Or(unknown, error(&UnknownError{Reason: "the webhook does not track anything yet"}))
		out.Coverage = event.Coverage{Unknown: unknown.Error()}
		return unknown
	}
	out.Coverage = out.Coverage.From(first.UTC())
	if everywhere := slices.ContainsFunc(places, func(p Place) bool { return p.Namespace == "" }); everywhere && len(noted.scope.ExcludedNamespaces) > 0 {
		out.Limits = append(out.Limits, "the webhook excludes the namespaces "+text.List(noted.scope.ExcludedNamespaces, maxNamed))
	}
	whole := first.Add(atOnce)
	if q.From.After(whole) {
		whole = q.From
	}
	out.Limits = append(out.Limits, limitsOf(omitted, later, whole)...)
	return nil
}

const maxNamed = 5

// limitsOf returns lines that list the kinds that are not watched, or that have been watched only
// since a time later than the given one.
func limitsOf(omitted map[ownership.Omission][]string, later map[time.Time][]string, from time.Time) (limits []string) {
	for _, o := range []struct {
		why  ownership.Omission
		text string
	}{
		{ownership.OmissionNever, "the webhook never tracks "},
		{ownership.OmissionKind, "excluded by the chart's values: "},
		{ownership.OmissionNamespace, "in a namespace that the webhook excludes: "},
		{ownership.OmissionRefused, "the webhook is not allowed to list and watch "},
		{ownership.OmissionUnseen, "not watched, or not watched yet: "},
	} {
		if kinds := omitted[o.why]; kinds != nil {
			slices.Sort(kinds)
			limits = append(limits, o.text+text.List(kinds, maxNamed))
		}
	}
	for since, kinds := range later {
		if since.After(from) {
			slices.Sort(kinds)
			limits = append(limits, "only since "+since.UTC().Format(time.RFC3339)+": "+text.List(kinds, maxNamed))
		}
	}
	slices.Sort(limits)
	return limits
}
