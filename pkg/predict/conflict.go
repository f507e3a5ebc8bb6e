package predict

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// ConflictError says that an object was not applied because other managers own paths with different
// values.
type ConflictError struct {
	Ref       object.Ref
	Conflicts []managedfields.Conflict
	// Refusal is the error with which the server would refuse the object even if every contested
	// path were taken. It is nil if the server would accept the object, or was not asked.
	Refusal error
}

func (e *ConflictError) Error() string {
	if len(e.Conflicts) == 1 {
		c := e.Conflicts[0]
		return fmt.Sprintf("conflict on %s: %s is owned by %s", e.Ref.Resource(), c.Path, ownerNames(c.Owners))
	}
	paths := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		paths[i] = c.Path.String()
	}
	return fmt.Sprintf("conflict on %s: %d paths are owned by others: %s",
		e.Ref.Resource(), len(paths), strings.Join(paths, ", "))
}

func (e *ConflictError) Hint() string {
	return fmt.Sprintf("for each path, take it with --take=%[1]s:PATH, leave it with --yield=%[1]s:PATH, "+
		"or put the live value into the manifest", e.Ref.Resource())
}

func ownerNames(owners []managedfields.Owner) string {
	if len(owners) == 0 {
		return "another manager"
	}
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = o.String()
	}
	return strings.Join(names, ", ")
}

// Offers describes the choices that resolve the conflicts of an object.
type Offers struct {
	// Unleavable lists the contested paths that cannot be yielded. The manifest lacks them, because
	// their owners wrote them using another API version.
	Unleavable []fieldpath.Path
	// AdoptFrom is the manager whose adoption resolves all conflicts; empty if there is none.
	AdoptFrom string
}

// Offers returns the choices that resolve the conflicts. It tries each choice on the live object,
// so that it never offers one that has no effect.
func (p Predictor) Offers(in *Prediction) (Offers, error) {
	p.OnDecision = nil
	var out Offers
	for _, c := range in.Conflicts {
		leaving := p
		leaving.Yield = append(slices.Clone(p.Yield), Choice{Path: fieldpath.Pattern(c.Path)})
		then, err := leaving.Evaluate(in.Item, in.Live)
		if err != nil || !slices.ContainsFunc(then.Yielded, c.Path.Equal) {
			out.Unleavable = append(out.Unleavable, c.Path)
		}
	}
	manager := soleOwner(in.Conflicts)
	if manager == "" || managedfields.IsPerson(manager) || in.Live == nil {
		return out, nil
	}
	from := p.adoptFrom(in.Item)
	from.Always = append(slices.Clone(from.Always), manager)
	adoption, err := adopt.Plan(in.Live, p.Manager, from)
	if err != nil {
		return out, err
	}
	isLeft := func(o managedfields.Owner) bool { return !slices.Contains(adoption.Adopted, o) }
	if slices.ContainsFunc(in.Conflicts, func(c managedfields.Conflict) bool { return slices.ContainsFunc(c.Owners, isLeft) }) {
		return out, nil
	}
	if !object.IsBuiltIn(in.Item.GVK.Group) {
		entries, err := managedfields.Entries(in.Live)
		if err != nil {
			return out, err
		}
		ours, theirs := fieldpath.NewSet(), fieldpath.NewSet()
		for _, e := range entries {
			if e.Is(p.Manager) || !isLeft(e.Owner) {
				ours = ours.Union(e.Fields)
			} else {
				theirs = theirs.Union(e.Fields)
			}
		}
		if empties(in.Item.Object.Object, in.Live.Object, ours.Difference(theirs)) {
			return out, nil
		}
	}
	out.AdoptFrom = manager
	return out, nil
}

// empties reports whether removing all owned fields that the manifest lacks would empty a live map
// or list that is empty in the manifest. The server would then turn this map or list into null, and
// refuse the custom resource.
func empties(declared, live any, owned *fieldpath.Set) bool {
	if owned == nil || owned.Empty() || !fieldpath.IsContainer(live) || fieldpath.IsEmpty(live) {
		return false
	}
	if fieldpath.IsContainer(declared) && fieldpath.IsEmpty(declared) {
		return fieldpath.HoldsAll(owned, live)
	}
	switch stated := declared.(type) {
	case map[string]any:
		live, _ := live.(map[string]any)
		for name, v := range stated {
			if below, ok := fieldpath.Below(owned, fieldpath.FieldElement(name)); ok && empties(v, live[name], below) {
				return true
			}
		}
	case []any:
		live, _ := live.([]any)
		x := fieldpath.ItemsOf(owned)
		for _, item := range stated {
			pe, _, ok := x.Element(item)
			if !ok {
				continue
			}
			at := x.Find(live, pe)
			if below, ok := fieldpath.Below(owned, pe); ok && at >= 0 && empties(item, live[at], below) {
				return true
			}
		}
	}
	return false
}

func soleOwner(conflicts []managedfields.Conflict) string {
	sole := ""
	for _, c := range conflicts {
		if len(c.Owners) == 0 {
			return ""
		}
		for _, owner := range c.Owners {
			if owner.Manager == managedfields.BeforeFirstApply || sole != "" && owner.Manager != sole {
				return ""
			}
			sole = owner.Manager
		}
	}
	return sole
}

func (p Predictor) classify(in *Prediction, contested []managedfields.Conflict) {
	in.Conflicts = p.open(in, contested)
	for _, c := range contested {
		if in.adopted(c) {
			in.Overwritten = append(in.Overwritten, c)
		} else if by, takes := p.taker(in.Item, c); takes {
			p.report(in.Item, c.Path, Taking, by)
			in.Taken = append(in.Taken, c)
		}
	}
}

func (p Predictor) open(in *Prediction, contested []managedfields.Conflict) []managedfields.Conflict {
	var out []managedfields.Conflict
	for _, c := range contested {
		if in.adopted(c) {
			continue
		}
		if _, takes := p.taker(in.Item, c); !takes {
			out = append(out, c)
		}
	}
	return out
}

// YieldError says that an apply would have changed a yielded field. Nothing was written.
type YieldError struct {
	Ref  object.Ref
	Path fieldpath.Path
}

func (e *YieldError) Error() string {
	return fmt.Sprintf("%s is yielded, but the apply would change it: nothing was written", e.Path)
}

func (e *YieldError) Hint() string {
	return fmt.Sprintf("take it with --take=%s:%s, or put its live value into the manifest", e.Ref.Resource(), e.Path)
}

// asked returns the manifest with the live values of the fields to be released, because a dry run
// cannot release fields.
func (in *Prediction) asked(body *unstructured.Unstructured) *unstructured.Unstructured {
	released := in.Adoption.Released()
	if released.Empty() {
		return body
	}
	return adopt.Overlaid(body, in.Live, released)
}

// Stays reports whether the change releases a path that keeps its value, either because other
// managers own the path or because the user yields it. Any other released path reverts to the
// server's default.
func (in *Prediction) Stays(c managedfields.Change) bool {
	return c.Kind == managedfields.Released && (len(c.Owners) > 0 || fieldpath.Holds(in.Adoption.Released(), c.Path))
}

// keepsYielded returns a *YieldError if the server's response changes a yielded path (edge case
// 83).
func (in *Prediction) keepsYielded() error {
	if in.Answer == nil || len(in.Conflicts) > 0 {
		return nil
	}
	yielded := slices.Clone(in.Yielded)
	fieldpath.Each(in.Adoption.Released(), func(p fieldpath.Path) { yielded = append(yielded, p.Clone()) })
	for _, path := range yielded {
		if _, live := path.Get(in.Live.Object); live && !path.Same(in.Live.Object, in.Answer.Object) {
			return &YieldError{Ref: in.Item.Ref, Path: path}
		}
	}
	return nil
}

// ConflictsFromStatus returns the conflicts in the server's response to an apply, sorted by path.
// Each path occurs once, with all its owners in the live object. A path has no owners if the object
// has changed since it was read. If the object has no managed fields, the owner is
// [managedfields.BeforeFirstApply], as on the server.
func ConflictsFromStatus(causes []metav1.StatusCause, live, manifest *unstructured.Unstructured, manager string) []managedfields.Conflict {
	entries, err := managedfields.Entries(live)
	if err != nil {
		entries = nil // Report the conflict without owners.
	}
	others := managedfields.Others(entries, manager)
	names := make(map[string][]fieldpath.Path)
	for _, e := range others {
		fieldpath.Each(e.Fields, func(p fieldpath.Path) {
			text := p.Unquoted()
			names[text] = append(names[text], p.Clone())
		})
	}
	var object, declared map[string]any
	if live != nil {
		object = live.Object
	}
	if manifest != nil {
		declared = manifest.Object
	}
	paths := fieldpath.NewSet()
	for _, cause := range causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		for _, p := range intendedBy(cause.Field, names, declared, object) {
			fieldpath.Insert(paths, managedfields.Stored(p, live))
		}
	}
	t := taking{live: object, answer: object, manifest: declared}
	conflicts := t.conflicts(paths, others)
	if live != nil && len(entries) == 0 && err == nil {
		owner := managedfields.Owner{Manager: managedfields.BeforeFirstApply, Operation: managedfields.Update, APIVersion: live.GetAPIVersion()}
		for i := range conflicts {
			conflicts[i].Owners = []managedfields.Owner{owner}
		}
	}
	return conflicts
}

// intendedBy returns the paths that a field in the server's response may refer to. The server does not
// quote the keys in a path, so the text may match several paths.
func intendedBy(field string, held map[string][]fieldpath.Path, objects ...map[string]any) []fieldpath.Path {
	if paths := held[field]; len(paths) > 0 {
		declared := slices.DeleteFunc(slices.Clone(paths), func(p fieldpath.Path) bool {
			_, ok := p.Get(objects[0])
			return !ok
		})
		if len(declared) > 0 {
			return declared
		}
		return paths
	}
	for _, object := range objects {
		if p, ok := locate(object, field, nil); ok {
			return []fieldpath.Path{p}
		}
	}
	if p, err := fieldpath.ParsePath(field); err == nil {
		return []fieldpath.Path{p}
	}
	return []fieldpath.Path{fieldpath.Field(field)}
}

// locate finds the path that the server wrote as text. The names of fields may contain dots, so locate tries
// each field of the object with which the text may begin.
func locate(v any, text string, path fieldpath.Path) (fieldpath.Path, bool) {
	if text == "" {
		return path, len(path) > 0
	}
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			rest, ok := strings.CutPrefix(text, "."+name)
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			if p, ok := locate(below, rest, path.Child(fieldpath.FieldElement(name))); ok {
				return p, true
			}
		}
	case []any:
		pe, rest, ok := fieldpath.ParseItem(text)
		if !ok {
			return nil, false
		}
		if i := fieldpath.Find(v, pe); i >= 0 {
			return locate(v[i], rest, path.Child(pe))
		}
	}
	return nil, false
}

// IsContested reports whether the server refused an apply because of a conflict.
func IsContested(err error) bool {
	return slices.ContainsFunc(Causes(err), func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeFieldManagerConflict
	})
}

// Contested returns the conflicts in a refusal for which [IsContested] returns true.
func (p Predictor) Contested(refusal error, live, body *unstructured.Unstructured) []managedfields.Conflict {
	return ConflictsFromStatus(Causes(refusal), live, body, p.Manager)
}

// Causes returns the causes that the server gives for a refusal; nil if it gives none.
func Causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// IsMisfit reports whether the server refused an apply because the manifest does not match the
// schema of its kind. The server gives no reason for this refusal.
func IsMisfit(err error) bool { return unexplained(err) }

// unexplained reports whether the server returned an internal error without a reason, as it does if
// a manifest does not match the schema of its kind.
func unexplained(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		status.Status().Reason == metav1.StatusReasonUnknown
}
