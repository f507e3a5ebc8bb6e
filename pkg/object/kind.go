package object

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is what the cluster (or a definition in the same set) says of a kind.
type Kind struct {
	GVK schema.GroupVersionKind
	// Resource is the plural under which the API server serves the kind; empty while
	// only a definition that is not applied yet declares it.
	Resource string
	// ShortNames are abbreviations of the resource, such as "deploy".
	ShortNames []string
	Namespaced bool
	// Verbs that the server offers for the resource, such as "list" or "patch".
	Verbs []string
}

// Kept reports whether the API server stores objects of the kind. It does not store
// reviews: it answers them when they are created.
func (k Kind) Kept() bool {
	return len(k.Verbs) == 0 || slices.Contains(k.Verbs, "get") || slices.Contains(k.Verbs, "list")
}

// GVR returns the resource under which objects of the kind are addressed.
func (k Kind) GVR() schema.GroupVersionResource {
	return k.GVK.GroupVersion().WithResource(k.Resource)
}

// Write says how to do one server-side apply.
type Write struct {
	// Manager is the field manager, at most 128 characters.
	Manager string
	// Force makes the manager the owner of every contested path.
	Force bool
	// Create refuses, with a conflict, to apply to an object that is there. Where an
	// earlier try of the same write may have made it, the error says MayBeWritten.
	Create bool
	// DryRun asks what would happen, and persists nothing.
	DryRun bool
	// Validation is the server's field validation: Strict, Warn or Ignore.
	// Empty means Strict.
	Validation string
}
