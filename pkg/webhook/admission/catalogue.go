package admission

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// Catalogue answers from package deprecation: built-in kinds and fields by the release of the API
// server, custom kinds by their CRDs. It serves as both Parts.Deprecations and Parts.Definitions,
// and is safe for concurrent use.
type Catalogue struct {
	// Server is the release of the API server; zero if unknown.
	Server deprecation.Release

	custom deprecation.Custom
}

// Notice returns the notice for a kind at a version.
func (c *Catalogue) Notice(kind schema.GroupVersionKind) (string, bool) {
	if n, ok := deprecation.Check(kind, c.Server); ok {
		return n.String(), true
	}
	if n, ok := c.custom.Lookup(kind); ok {
		return n.String(), true
	}
	return "", false
}

// Fields returns the deprecated fields that now has and old had not.
func (c *Catalogue) Fields(old, now *unstructured.Unstructured) []deprecation.FieldNotice {
	return deprecation.NewFields(old, now, c.Server)
}

// Resources returns the versions of custom resources that are deprecated.
func (c *Catalogue) Resources() []schema.GroupVersionResource { return c.custom.Resources() }

// Set adds or replaces a CRD.
func (c *Catalogue) Set(definition *unstructured.Unstructured) {
	c.custom.Set(deprecation.ParseDefinition(definition))
}

// Delete forgets a CRD.
func (c *Catalogue) Delete(name string) { c.custom.Delete(name) }
