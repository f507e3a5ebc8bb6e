package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/warningtext"
)

// Deprecations finds deprecated versions and fields.
type Deprecations interface {
	// Notice returns the notice for a kind at a version, if the version is deprecated. The notice
	// is one line without the name of the object, such as "policy/v1beta1 is deprecated since 1.21,
	// removed in 1.25; use policy/v1".
	Notice(kind schema.GroupVersionKind) (text string, ok bool)
	// Fields returns the deprecated fields that an object gains between the versions old and now.
	// For a new object, old is nil.
	Fields(old, now *unstructured.Unstructured) []deprecation.FieldNotice
}

// notices warns about the version that the client used, and about deprecated fields in a new
// object. When an object is updated, takings warns about the added fields instead, because takings
// knows their owner.
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
	if r.RequestKind != nil { // The kind that the client used, before conversion by the API server.
		kind = schema.GroupVersionKind(*r.RequestKind)
	}
	if r.Object.err != nil {
		return nil, r.Object.err
	}
	name := nameOf(kind.Kind, r.Object.metadata)
	var out []warning
	if text, ok := j.deprecations.Notice(kind); ok {
		out = append(out, warning{aboutVersion, warningtext.About(name, text)})
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

// fieldWarnings returns a line for each field about which the API server does not warn. The other
// fields are appended to the last of these lines, or share one line, which names the object.
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
			out = append(out, warning{aboutField, warningtext.About(name, n.String())})
		}
	}
	if more > 0 {
		out = append(out, warning{aboutField, warningtext.About(name, fmt.Sprintf("+%d more deprecated fields", more))})
	}
	switch last := len(out) - 1; {
	case len(repeated) == 0:
	case last >= 0: // The object has been named already.
		out[last].text = warningtext.AndRepeated(out[last].text, pathList(repeated, lineLength/2))
	default:
		head := warningtext.About(name, warningtext.Repeated())
		out = append(out, warning{aboutField, head + pathList(repeated, max(lineLength-length(head), pathLength))})
	}
	return out
}

// Catalogue implements Deprecations and the webhook's Definitions. It determines deprecated
// built-in kinds and fields from the API server's release, and deprecated custom kinds from their
// CRDs. It is safe for concurrent use.
type Catalogue struct {
	// Server is the release of the API server; zero if unknown.
	Server deprecation.Release

	custom deprecation.Custom
}

// Notice implements [Deprecations].
func (c *Catalogue) Notice(kind schema.GroupVersionKind) (string, bool) {
	if n, ok := deprecation.Check(kind, c.Server); ok {
		return n.String(), true
	}
	if n, ok := c.custom.Lookup(kind); ok {
		return n.String(), true
	}
	return "", false
}

// Fields implements [Deprecations].
func (c *Catalogue) Fields(old, now *unstructured.Unstructured) []deprecation.FieldNotice {
	return deprecation.NewFields(old, now, c.Server)
}

// Resources returns the deprecated versions of custom resources.
func (c *Catalogue) Resources() []schema.GroupVersionResource { return c.custom.Resources() }

// Set adds or replaces a CRD.
func (c *Catalogue) Set(definition *unstructured.Unstructured) {
	c.custom.Set(deprecation.ParseDefinition(definition))
}

// Delete removes a CRD.
func (c *Catalogue) Delete(name string) { c.custom.Delete(name) }
