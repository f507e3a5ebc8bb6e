package predict

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Rewritten returns the applied paths whose value in the server's response differs from the sent
// value, or that the response lacks. Usually a mutating webhook has rewritten these values under our
// name (k/k#129960; edge case 15). In each change, From is the sent value and To is the value in the
// response. It ignores a different spelling of an equal quantity, time, duration (edge case 11) or
// base64, and what the response has besides the sent parts of an atomic value, such as defaults.
func Rewritten(answer, sent *unstructured.Unstructured, manager string) ([]managedfields.Change, error) {
	entries, err := managedfields.Entries(answer)
	if err != nil {
		return nil, err
	}
	return rewritten(comparison{sent: sent, answer: answer}, entries, manager), nil
}

func rewritten(c comparison, entries []managedfields.Entry, manager string) []managedfields.Change {
	fieldpath.Each(managedfields.Managed(entries, manager).Leaves(), c.leaf)
	return c.out
}

// Rewritten returns the paths of the apply that something in the cluster rewrote or removed. In Kubernetes' own
// kinds, a zero value means "not set" unless the field is a pointer in the Go type. The server itself
// replaces it by a default, which is not a rewriting. In a custom resource, the server changes nothing but what
// its schema declares.
func (p Predictor) Rewritten(in *Prediction, answer *unstructured.Unstructured) ([]managedfields.Change, error) {
	entries, err := in.Entries(answer)
	if err != nil {
		return nil, err
	}
	isBuiltIn := object.IsBuiltIn(in.Item.GVK.Group)
	c := comparison{sent: in.Declared, answer: answer, builtIn: isBuiltIn, types: &openapi.Schema{Fetch: func() openapi.Type {
		if fetch := p.schemaOf(in.Item); fetch != nil && !isBuiltIn {
			return fetch()
		}
		return p.typeOf(in.Item.Kind)
	}}}
	changes := rewritten(c, entries, p.Manager)
	if isBuiltIn {
		changes = slices.DeleteFunc(changes, func(change managedfields.Change) bool {
			return fieldpath.IsZero(change.From) && !isPointer(c.types.At(change.Path))
		})
	}
	known := len(changes)
	for _, d := range Dropped(answer, in.Declared) {
		if !slices.ContainsFunc(changes[:known], func(c managedfields.Change) bool {
			return len(c.Path) <= len(d.Path) && fieldpath.SameField(in.Declared.Object, c.Path, d.Path[:len(c.Path)])
		}) {
			changes = append(changes, d)
		}
	}
	return changes, nil
}

func isPointer(t openapi.Type) bool {
	p, ok := t.(interface{ Pointer() bool })
	return ok && p.Pointer()
}

// RewritingWarning returns the warning about a value that the cluster rewrites or removes, and the cause
// that follows it.
func RewritingWarning(c managedfields.Change) (warning, cause string) {
	if c.Kind == managedfields.Removed {
		return fmt.Sprintf("%s is not stored, although your manifest has %v", c.Path, quoted(c.From)),
			": the API server or something in the cluster removes it"
	}
	return fmt.Sprintf("%s is %v, not %v", c.Path, quoted(c.To), quoted(c.From)), ": something in the cluster rewrites it"
}

// quoted quotes strings, so that "1" differs from 1.
func quoted(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case nil:
		return "null"
	case map[string]any, []any:
		if data, err := json.Marshal(v); err == nil {
			return text.Excerpt(string(data))
		}
	}
	return fmt.Sprint(v)
}

// Terminating is the warning for an object that is being deleted.
const Terminating = "is being deleted; applied changes will be lost"

// sameText reports whether two values are the same quantity, time or duration. The server may store them in
// another spelling.
func sameText(a, b any) bool {
	if x, ok := quantity(a); ok {
		if y, ok := quantity(b); ok && x.Cmp(y) == 0 {
			return true
		}
	}
	x, isText := a.(string)
	y, isTextToo := b.(string)
	if !isText || !isTextToo {
		return false
	}
	if sameBytes(x, y) {
		return true
	}
	if at, err := time.Parse(time.RFC3339, x); err == nil {
		other, err := time.Parse(time.RFC3339, y)
		return err == nil && at.Equal(other)
	}
	d, err := time.ParseDuration(x)
	if err != nil {
		return false
	}
	e, err := time.ParseDuration(y)
	return err == nil && d == e
}

// sameBytes reports whether two texts are base64 of the same bytes. A manifest may break its lines; the
// server stores it in one.
func sameBytes(a, b string) bool {
	x, err := base64.StdEncoding.DecodeString(a)
	if err != nil {
		return false
	}
	y, err := base64.StdEncoding.DecodeString(b)
	return err == nil && bytes.Equal(x, y)
}

// quantity parses a value as a quantity. A manifest may contain a number where the server stores a
// string, as in "cpu: 1".
func quantity(v any) (resource.Quantity, bool) {
	text, ok := v.(string)
	if f, isNumber := fieldpath.AsFloat(v); isNumber {
		text, ok = strconv.FormatFloat(f, 'f', -1, 64), true
	}
	if !ok {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// A Pod has two fields for its ServiceAccount. The server overwrites serviceAccount with
// serviceAccountName.
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodSpec
const (
	accountName, accountAlias = "serviceAccountName", "serviceAccount"
)

func contradiction(u *unstructured.Unstructured) (spec fieldpath.Path, name, alias string, is bool) {
	switch kind := u.GroupVersionKind().GroupKind(); kind {
	case schema.GroupKind{Kind: "Pod"}:
		spec = fieldpath.Field("spec")
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		spec = fieldpath.Field("spec", "template", "spec")
	default:
		spec = podSpec(kind)
	}
	if spec == nil {
		return nil, "", "", false
	}
	pod := mapAt(spec, u.Object)
	name, _ = pod[accountName].(string)
	alias, _ = pod[accountAlias].(string)
	return spec, name, alias, name != "" && alias != "" && name != alias
}

// WithoutContradiction returns the manifest as the server reads it: if two ServiceAccount names
// differ, serviceAccountName wins.
func WithoutContradiction(u *unstructured.Unstructured) *unstructured.Unstructured {
	spec, name, _, is := contradiction(u)
	if !is {
		return u
	}
	out := u.DeepCopy()
	mapAt(spec, out.Object)[accountAlias] = name
	return out
}

// contradictionText describes the contradiction between two ServiceAccount names; empty if there is
// none.
func (in *Prediction) contradictionText() string {
	spec, name, alias, is := contradiction(in.Item.Object)
	if !is {
		return ""
	}
	return fmt.Sprintf("%s is %q, but the server sets it to %q: the field is a deprecated alias for %s, whose value wins; remove the alias",
		append(spec.Clone(), fieldpath.Field(accountAlias)...), alias, name, accountName)
}
