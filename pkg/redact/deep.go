package redact

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Deep masks all strings in a value, but not map keys. It does not mask paths or the names of
// objects and owners, and declares that these names are not secret. The optional function (then) is
// applied to each masked string. The result shares unchanged parts with x, which is never changed.
func (v *Vault) Deep(x any, then func(string) string) any {
	if x == nil {
		return x
	}
	w := &walker{vault: v, text: v.Text}
	if then != nil {
		w.text = func(text string) string { return then(v.Text(text)) }
	}
	out, _ := w.deep(reflect.ValueOf(x))
	return out.Interface()
}

type walker struct {
	vault *Vault
	text  func(string) string
}

// error masks the text of an error. The error's type and reason remain visible.
func (w *walker) error(err error) error {
	if !w.quotes(err) {
		return err
	}
	return w.masked(err)
}

func (w *walker) deep(x reflect.Value) (out reflect.Value, changed bool) {
	if isName(x.Type()) {
		if ref, ok := reflect.TypeAssert[object.Ref](x); ok {
			w.vault.Ref(ref)
		}
		if owner, ok := reflect.TypeAssert[managedfields.Owner](x); ok {
			w.vault.Name(owner.Manager)
		}
		return x, false
	}
	switch x.Kind() {
	case reflect.String:
		text := w.text(x.String())
		return reflect.ValueOf(text), text != x.String()
	case reflect.Interface:
		return w.deepInterface(x)
	case reflect.Pointer:
		return w.deepPointer(x)
	case reflect.Struct, reflect.Slice, reflect.Map:
		return w.deepParts(x)
	default:
		return x, false
	}
}

// isName reports whether values of the type are names, which are neither foreign text nor values of
// Secrets.
func isName(t reflect.Type) bool {
	switch {
	case t.Kind() == reflect.String:
		return t != reflect.TypeFor[string]()
	case t == reflect.TypeFor[fieldpath.Path](), t == reflect.TypeFor[managedfields.Owner]():
		return true
	}
	return t.PkgPath() == reflect.TypeFor[object.Ref]().PkgPath()
}

func (w *walker) deepInterface(x reflect.Value) (reflect.Value, bool) {
	if x.IsNil() {
		return x, false
	}
	if err, ok := reflect.TypeAssert[error](x); ok {
		return reflect.ValueOf(w.error(err)), w.quotes(err)
	}
	return w.deep(x.Elem())
}

func (w *walker) deepPointer(x reflect.Value) (reflect.Value, bool) {
	if x.IsNil() {
		return x, false
	}
	if u, ok := reflect.TypeAssert[*unstructured.Unstructured](x); ok {
		w.deep(reflect.ValueOf(object.RefOf(u)))
		masked, changed := w.deep(reflect.ValueOf(u.Object))
		if !changed {
			return x, false
		}
		return reflect.ValueOf(&unstructured.Unstructured{Object: masked.Interface().(map[string]any)}), true
	}
	elem, changed := w.deep(x.Elem())
	if !changed {
		return x, false
	}
	out := reflect.New(x.Type().Elem())
	out.Elem().Set(elem)
	return out, true
}

// deepParts copies a struct, list or map only if something in it is masked: most events contain no Secret, and
// their objects are large and shared.
func (w *walker) deepParts(x reflect.Value) (out reflect.Value, changed bool) {
	out = x
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			if !x.Type().Field(i).IsExported() {
				continue
			}
			if part, masked := w.deep(x.Field(i)); masked {
				if !changed {
					out, changed = reflect.New(x.Type()).Elem(), true
					out.Set(x)
				}
				out.Field(i).Set(part)
			}
		}
	case reflect.Slice:
		for i := range x.Len() {
			if part, masked := w.deep(x.Index(i)); masked {
				if !changed {
					out, changed = reflect.MakeSlice(x.Type(), x.Len(), x.Len()), true
					reflect.Copy(out, x)
				}
				out.Index(i).Set(part)
			}
		}
	default:
		for _, key := range x.MapKeys() {
			if part, masked := w.deep(x.MapIndex(key)); masked {
				if !changed {
					out, changed = reflect.MakeMapWithSize(x.Type(), x.Len()), true
					for _, k := range x.MapKeys() {
						out.SetMapIndex(k, x.MapIndex(k))
					}
				}
				out.SetMapIndex(key, part)
			}
		}
	}
	return out, changed
}

func (w *walker) quotes(err error) bool {
	text := err.Error()
	if w.text(text) != text {
		return true
	}
	if hint := hintOf(err); hint != "" && w.text(hint) != hint {
		return true
	}
	for _, inner := range unwrapped(err) {
		if inner != nil && w.quotes(inner) {
			return true
		}
	}
	return false
}

func unwrapped(err error) []error {
	switch e := err.(type) { //nolint:errorlint // this function unwraps errors
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

func hintOf(err error) string {
	if hinted, ok := err.(interface{ Hint() string }); ok {
		return hinted.Hint()
	}
	return ""
}

// errors.As finds the original errors in the chain of a vaultError. Unwrap returns only masked
// ones.
type vaultError struct {
	err    error
	walker *walker
}

func (e *vaultError) Error() string { return e.walker.text(e.err.Error()) }

func (e *vaultError) Hint() string {
	return e.walker.text(object.HintOf(e.err))
}

func (e *vaultError) Of(objects int) error {
	many := several(e.err, objects)
	if many == nil {
		return e
	}
	return e.walker.error(many)
}

func (e *vaultError) As(target any) bool {
	t := reflect.TypeOf(target).Elem()
	if !reflect.TypeOf(e.err).AssignableTo(t) {
		as, ok := e.err.(interface{ As(any) bool })
		return ok && as.As(target)
	}
	reflect.ValueOf(target).Elem().Set(reflect.ValueOf(e.err))
	return true
}

func (e *vaultError) Is(target error) bool {
	if reflect.TypeOf(e.err).Comparable() && e.err == target {
		return true
	}
	is, ok := e.err.(interface{ Is(error) bool })
	return ok && is.Is(target)
}

type joinedVaultError struct{ vaultError }

func (w *walker) masked(err error) error {
	one := vaultError{err: err, walker: w}
	if _, joins := err.(interface{ Unwrap() []error }); joins {
		return &joinedVaultError{one}
	}
	return &one
}

func (e *vaultError) Unwrap() error {
	if below := unwrapped(e.err); len(below) > 0 && below[0] != nil {
		return e.walker.masked(below[0])
	}
	return nil
}

func (e *joinedVaultError) Unwrap() []error {
	var below []error
	for _, inner := range unwrapped(e.err) {
		if inner != nil {
			below = append(below, e.walker.masked(inner))
		}
	}
	return below
}

// Error masks the values of a Secret in the text of an error. The result wraps the error. For other
// objects, it returns err.
func Error(u *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	text := Text(u, err.Error())
	if text == err.Error() {
		return err
	}
	return &maskedError{about: u, err: err, text: text}
}

// Refusal masks a server's error about a Secret whose values are unknown. It reveals only the
// status code, or that the Secret does not exist. The result does not wrap err, because a printer
// might show it. For other objects, it returns err.
func Refusal(ref object.Ref, err error) error {
	var status apierrors.APIStatus
	if !IsSecret(ref) || !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	if s.Reason == metav1.StatusReasonNotFound {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, ref.Name)
	}
	return errors.New(strings.TrimSpace(fmt.Sprintf("the server returned %d %s", s.Code, s.Reason)))
}

type maskedError struct {
	about *unstructured.Unstructured
	err   error
	text  string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }

func (e *maskedError) Of(objects int) error {
	many := several(e.err, objects)
	if many == nil {
		return e
	}
	return Error(e.about, many)
}

func several(err error, objects int) error {
	common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err)
	if !ok {
		return nil
	}
	return common.Of(objects)
}
