package predict

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// RefusedError is the server's refusal of an object, with what can be done.
type RefusedError struct {
	Err error
	// Advice says what can be done about it.
	Advice string
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the server's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// Hint returns the advice.
func (e *RefusedError) Hint() string { return e.Advice }

// ConflictsFromStatus returns the conflicts that the server answered to an apply, sorted by
// path: each path once, with all its owners in the live object. Owners come from the
// object's managed fields, never from the wording of a message; a path without an owner
// there, because the object has changed, has none. Everything in an object without entries
// belongs to [managedfields.BeforeFirstApply]: the server assigns it so.
//
// The server names paths in a notation without quotes, which is ambiguous. So the paths
// that may be meant are written in that notation, and compared.
func ConflictsFromStatus(causes []metav1.StatusCause, live, manifest *unstructured.Unstructured, manager string) []managedfields.Conflict {
	entries, err := managedfields.Entries(live)
	if err != nil {
		entries = nil // The conflict exists all the same.
	}
	others := managedfields.Others(entries, manager)
	names := make(map[string][]fieldpath.Path)
	for _, e := range others {
		fieldpath.Each(e.Fields, func(p fieldpath.Path) {
			text := p.Unquoted()
			names[text] = append(names[text], p.Clone())
		})
	}
	var object, stated map[string]any
	if live != nil {
		object = live.Object
	}
	if manifest != nil {
		stated = manifest.Object
	}
	paths := fieldpath.NewSet()
	for _, cause := range causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		for _, p := range meantBy(cause.Field, names, stated, object) {
			fieldpath.Insert(paths, managedfields.Stored(p, live))
		}
	}
	t := taking{live: object, answer: object, manifest: stated}
	conflicts := t.conflicts(paths, others)
	if live != nil && len(entries) == 0 && err == nil {
		owner := managedfields.Owner{Manager: managedfields.BeforeFirstApply, Operation: managedfields.Update, APIVersion: live.GetAPIVersion()}
		for i := range conflicts {
			conflicts[i].Owners = []managedfields.Owner{owner}
		}
	}
	return conflicts
}

// meantBy returns the paths that a cause's field may mean: those with owners, else those
// in the manifest or the object, else the path parsed from the text.
func meantBy(field string, held map[string][]fieldpath.Path, objects ...map[string]any) []fieldpath.Path {
	if paths := held[field]; len(paths) > 0 {
		if stated := inObject(paths, objects[0]); len(stated) > 0 {
			return stated
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

func inObject(paths []fieldpath.Path, object map[string]any) []fieldpath.Path {
	var out []fieldpath.Path
	for _, p := range paths {
		if _, ok := p.Get(object); ok {
			out = append(out, p)
		}
	}
	return out
}

// locate finds the path in a value whose notation without quotes is text.
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
		return locateItem(v, text, path)
	}
	return nil, false
}

func locateItem(list []any, text string, path fieldpath.Path) (fieldpath.Path, bool) {
	pe, rest, ok := fieldpath.ParseItem(text)
	if !ok {
		return nil, false
	}
	i := fieldpath.Find(list, pe)
	if i < 0 {
		return nil, false
	}
	return locate(list[i], rest, path.Child(pe))
}

// IsContested reports whether an error is the server's refusal of an apply because
// others own what it would change.
func IsContested(err error) bool {
	return slices.ContainsFunc(Causes(err), func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeFieldManagerConflict
	})
}

// Contested reads such a refusal.
func (p Predictor) Contested(refusal error, live, body *unstructured.Unstructured) []managedfields.Conflict {
	return ConflictsFromStatus(Causes(refusal), live, body, p.Manager)
}

// Causes returns the details of a server's refusal, if it gave any.
func Causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// unexplained reports whether the server answered with an internal error and no
// reason, as it does where it cannot read a manifest by the kind's schema.
func unexplained(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		status.Status().Reason == metav1.StatusReasonUnknown
}
