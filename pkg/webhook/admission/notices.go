package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Deprecations knows deprecated versions and fields.
type Deprecations interface {
	// Notice returns the notice for a kind at a version; false for none. It is one line, without
	// the name of the object: "policy/v1beta1 is deprecated since 1.21, removed in 1.25; use
	// policy/v1".
	Notice(kind schema.GroupVersionKind) (text string, ok bool)
	// Fields returns the deprecated fields that now has and old had not. old is nil for a new
	// object.
	Fields(old, now *unstructured.Unstructured) []deprecation.FieldNotice
}

// notices warns of the version that the client used, and of deprecated fields in a new object.
// Fields that an update adds come with their owner, so the evaluator of owners warns of them.
type notices struct {
	deprecations Deprecations // may be nil
}

func (j notices) evaluate(r *request) (findings, error) {
	warnings, err := j.warnings(r)
	return findings{warnings: warnings}, err
}

func (j notices) warnings(r *request) ([]warning, error) {
	create := r.Operation == admissionv1.Create
	if j.deprecations == nil || !create && r.Operation != admissionv1.Update {
		return nil, nil
	}
	kind := schema.GroupVersionKind(r.Kind)
	if r.RequestKind != nil { // The client's object, before its conversion for us.
		kind = schema.GroupVersionKind(*r.RequestKind)
	}
	if r.Object.err != nil {
		return nil, r.Object.err
	}
	name := nameOf(kind.Kind, r.Object.metadata)
	var out []warning
	if text, ok := j.deprecations.Notice(kind); ok {
		out = append(out, warning{aboutVersion, name + ": " + text})
	}
	if !create {
		return out, nil
	}
	object, err := r.Object.read()
	if err != nil || object == nil || metav1.GetControllerOf(object) != nil {
		return out, err // The author of the template was warned.
	}
	return append(out, fieldWarnings(name, j.deprecations.Fields(nil, object))...), nil
}

// fieldWarnings returns a line for each field that the API server does not warn of, and one line
// that names the object for all the others, of which the API server warns.
func fieldWarnings(name string, notices []deprecation.FieldNotice) []warning {
	var out []warning
	var repeated []fieldpath.Path
	more := 0
	for _, n := range notices {
		path, err := fieldpath.ParsePath(n.Path)
		switch {
		case n.ServerWarns && err == nil:
			repeated = append(repeated, path)
		case len(out) == maxLines:
			more++
		default:
			out = append(out, warning{aboutField, name + ": " + n.String()})
		}
	}
	if more > 0 {
		out = append(out, warning{aboutField, fmt.Sprintf("%s: +%d more deprecated fields", name, more)})
	}
	if len(repeated) > 0 {
		head := name + ": deprecated, as the API server warns: " // The plugin's client knows these words.
		out = append(out, warning{aboutField, head + pathList(repeated, max(lineLength-length(head), pathLength))})
	}
	return out
}
