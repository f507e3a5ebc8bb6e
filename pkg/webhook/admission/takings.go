package admission

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// HintSink receives hints about writes. It never blocks, and returns false if it drops a hint.
type HintSink interface {
	Hint(hint ownership.Hint) bool
}

// takings warns about fields that an update takes from other owners, and sends hints about them.
type takings struct {
	hints        HintSink     // nil sends none
	deprecations Deprecations // may be nil
	count        *metrics
	values       bool
	live         func(uid types.UID) (kind string, owners ownership.Owners, resourceVersion string, ok bool)
}

func (j takings) evaluate(r *request) (out findings, err error) {
	if r.Operation != admissionv1.Update || r.Object.isNull() || r.OldObject.isNull() {
		return out, nil
	}
	was, is := r.OldObject.metadata, r.Object.metadata
	if err := errors.Join(r.OldObject.err, r.Object.err); err != nil {
		return out, err
	}
	if r.SubResource == ownership.Scale {
		return j.scaled(r, was, is)
	}
	// Warnings and hints ignore the same owners as records do.
	before, after := ownership.Tracked(was.ManagedFields), ownership.Tracked(is.ManagedFields)
	if before.Equal(after) {
		return out, nil
	}
	var old, now *unstructured.Unstructured
	transitions, err := ownership.BetweenObjects(before, after, func() (_, _ *unstructured.Unstructured, err error) {
		old, now, err = readBoth(&r.OldObject, &r.Object)
		return old, now, err
	})
	if err != nil {
		return out, err
	}
	if r.Options.FieldManager == managedfields.Giver {
		ownership.Hand(transitions)
	}
	if !r.DryRun {
		out.audit = auditOf(transitions)
	}
	if !r.DryRun && slices.ContainsFunc(transitions, isLoss) {
		j.hint(ownership.Hint{
			UID: is.UID, ResourceVersion: was.ResourceVersion, Owners: after, Verdicts: ownership.VerdictsOn(transitions),
			Metadata: ownership.MetadataOf(schema.GroupVersion{Group: r.Kind.Group, Version: r.Kind.Version}.String(), is.Labels, is.Annotations),
			User:     ownership.FitUser(r.UserInfo.Username), Request: r.UID, Time: time.Now(), Values: j.valuesOf(r, transitions, old, now),
		})
	}
	name := nameOf(r.Kind.Kind, is)
	out.warnings = ownersWarnings(name, takeovers(transitions))
	if j.deprecations == nil || !slices.ContainsFunc(transitions, func(t ownership.Transition) bool { return len(t.Gained()) > 0 }) {
		return out, nil
	}
	notices, err := j.fields(r)
	out.warnings = append(out.warnings, fieldWarnings(name, notices)...)
	return out, err
}

func (j takings) valuesOf(r *request, transitions []ownership.Transition, old, now *unstructured.Unstructured) map[string]ownership.ValueChange {
	if !j.values || old == nil || now == nil {
		return nil
	}
	var out map[string]ownership.ValueChange
	kind := schema.GroupKind{Group: r.Kind.Group, Kind: r.Kind.Kind}
	before, after := ownership.NewLookup(old.Object), ownership.NewLookup(now.Object)
	for _, t := range transitions {
		if v := ownership.ValuesOf(kind, t.Path, before, after); isLoss(t) && v != (ownership.ValueChange{}) {
			if out == nil {
				out = map[string]ownership.ValueChange{}
			}
			out[t.Path.String()] = v
		}
	}
	return out
}

// unnamed is shown for a manager that a review does not name. kubectl scale sends no manager; the
// API server later derives one from the user agent.
const unnamed = "your client"

// scaled sends a hint about a write through /scale, and warns if the write takes spec.replicas from
// other owners. In the review of such a write, the objects carry the identity and version of the
// scaled object, but no owners. The tracker knows the previous owners.
func (j takings) scaled(r *request, was, is metadata) (out findings, err error) {
	replicas := fieldpath.Field("spec", "replicas")
	if !r.DryRun {
		hint := ownership.Hint{
			UID: is.UID, ResourceVersion: was.ResourceVersion, Scaled: true, Manager: r.Options.FieldManager,
			User: ownership.FitUser(r.UserInfo.Username), Request: r.UID, Time: time.Now(),
		}
		if j.values {
			hint.Values = scaleValues(r, replicas)
		}
		j.hint(hint)
	}
	if j.live == nil {
		return out, nil
	}
	kind, before, version, ok := j.live(is.UID)
	if !ok || version != was.ResourceVersion {
		return out, nil
	}
	entries, err := before.Entries()
	if err != nil {
		return out, err
	}
	t := ownership.Transition{Path: replicas, Kind: ownership.Taken, After: []managedfields.Owner{
		{Manager: cmp.Or(r.Options.FieldManager, unnamed), Operation: managedfields.Update, Subresource: ownership.Scale},
	}}
	for _, e := range entries {
		itself := r.Options.FieldManager == "" && e.Subresource == ownership.Scale // Perhaps.
		if fieldpath.Has(e.Fields, t.Path) && !itself {
			t.Before = append(t.Before, e.Owner)
		}
	}
	transitions := []ownership.Transition{t}
	if !r.DryRun && len(t.Before) > 0 {
		out.audit = auditOf(transitions)
	}
	out.warnings = ownersWarnings(nameOf(kind, is), takeovers(transitions))
	return out, nil
}

func scaleValues(r *request, replicas fieldpath.Path) map[string]ownership.ValueChange {
	old, now, err := readBoth(&r.OldObject, &r.Object)
	if err != nil {
		return nil // The Scale is invalid, so the write will fail.
	}
	if v := ownership.ScaleValues(old.Object, now.Object); v != (ownership.ValueChange{}) {
		return map[string]ownership.ValueChange{replicas.String(): v}
	}
	return nil
}

// fields returns the notices for deprecated fields that the request adds. It checks the new object
// first, because few objects have such fields.
func (j takings) fields(r *request) ([]deprecation.FieldNotice, error) {
	now, err := r.Object.read()
	if err != nil || len(j.deprecations.Fields(nil, now)) == 0 {
		return nil, err
	}
	old, err := r.OldObject.read()
	if err != nil {
		return nil, err
	}
	return j.deprecations.Fields(old, now), nil
}

func (j takings) hint(h ownership.Hint) {
	if j.hints != nil && !j.hints.Hint(h) {
		j.count.hintsDropped.Inc()
	}
}

// isLoss reports whether an owner lost a path that others now own. The tracker sees no values, so
// it cannot tell whether the path was taken or released.
func isLoss(t ownership.Transition) bool { return len(t.Lost()) > 0 && len(t.After) > 0 }

const (
	auditTaken = "taken"
	// maxAudit bounds the annotation's size in bytes. Paths beyond the bound are only counted.
	maxAudit = 8 << 10
)

type auditEntry struct {
	Path   string   `json:"path,omitempty"`
	From   []string `json:"from,omitempty"`
	By     []string `json:"by,omitempty"`
	Forced bool     `json:"forced,omitzero"`
	More   int      `json:"more,omitzero"`
}

// auditOf returns the paths that a request takes. The audit log also contains the user, and
// outlives this process.
func auditOf(transitions []ownership.Transition) map[string]string {
	list, more := []byte{'['}, 0
	add := func(e auditEntry) {
		text, err := json.Marshal(e)
		if err != nil { // All fields can be encoded as JSON.
			return
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, text...)
	}
	for _, t := range transitions {
		switch {
		case t.Kind != ownership.Taken:
		case len(list) > maxAudit:
			more++
		default:
			add(auditEntry{
				Path: text.Truncate(t.Path.String(), maxLine), From: auditNames(t.Lost()), By: auditNames(t.After), Forced: t.Forced,
			})
		}
	}
	if more > 0 {
		add(auditEntry{More: more})
	}
	if len(list) == 1 {
		return nil
	}
	return map[string]string{auditTaken: string(append(list, ']'))}
}

func auditNames(owners []managedfields.Owner) []string {
	out := make([]string, 0, min(len(owners), maxLines))
	for _, o := range owners[:min(len(owners), maxLines)] {
		out = append(out, text.Truncate(o.String(), maxLine))
	}
	return out
}
