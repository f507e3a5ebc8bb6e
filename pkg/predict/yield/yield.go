// Package yield removes yielded fields from a manifest, so that the server keeps their live values.
// Call [Paths], then [Left]. The package sends no requests.
package yield

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Paths returns a manifest that leaves the given paths to their owners, and the given paths that
// the original manifest contained (edge cases 31, 32). It does not modify the original. Without a
// live object, nothing is yielded.
//
// A field that others own is removed from the manifest. A field that no one else owns gets its live
// value; otherwise the server would delete it or reset it to its default. If a path contains other
// fields, the same applies to each of them, even if the manifest lacks it. An atomic value gets its
// live value as a whole.
//
// A parent that only we own stays in the manifest even if it becomes empty; otherwise the server
// would remove the parent, including the fields in it that others own (edge case 83). A parent that
// others own, or that the live object lacks, is removed when it becomes empty.
//
// schema is called only if an item in the manifest omits part of its key, and may be nil. Paths
// returns a *KeyError for a key field, which cannot be removed from its list item.
func Paths(manifest, live *unstructured.Unstructured, manager string, paths []fieldpath.Path, schema func() openapi.Type) (*unstructured.Unstructured, []fieldpath.Path, error) {
	if live == nil || manifest == nil || len(paths) == 0 {
		return manifest, nil, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, nil, err
	}
	object, _ := fieldpath.Clone(manifest.Object).(map[string]any)
	root := node{declared: fieldpath.Present(object), live: fieldpath.Present(live.Object), ours: managedfields.Managed(entries, manager)}
	root.others = holdersOf(managedfields.Others(entries, manager))
	if schema != nil {
		root.types = &openapi.Schema{Fetch: schema}
	}
	var yielded []fieldpath.Path
	for _, p := range ownable(paths, object) {
		if _, declared := p.Get(object); declared && !fieldpath.IsIdentity(p) {
			if fieldpath.IsKeyField(p) {
				return nil, nil, &KeyError{Path: p}
			}
			if _, _, found := root.valueAt(p); found {
				yielded = append(yielded, p)
			}
		}
	}
	return &unstructured.Unstructured{Object: object}, yielded, nil
}

// Left returns the manager's paths that the manifest no longer sets and no one else owns. The
// server would remove them. released contains the paths that can be released before the apply,
// because the manifest sets something else in their parents. declared contains the paths that must be
// sent with their live values; otherwise the server would remove the whole parent. Fields of
// removed list items are in neither set.
func Left(manifest, live *unstructured.Unstructured, manager string, paths []fieldpath.Path) (released, declared *fieldpath.Set, err error) {
	released, declared = fieldpath.NewSet(), fieldpath.NewSet()
	if live == nil || len(paths) == 0 {
		return released, declared, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, nil, err
	}
	ours, _ := managedfields.AppliedBy(entries, manager)
	if ours.Fields == nil || ours.APIVersion != live.GetAPIVersion() {
		return released, declared, nil
	}
	isKept := func(held fieldpath.Path) bool {
		return slices.ContainsFunc(managedfields.Others(entries, manager), func(e managedfields.Entry) bool {
			return e.APIVersion == ours.APIVersion && fieldpath.Has(e.Fields, held)
		})
	}
	for _, p := range paths {
		if _, is := p.Get(manifest.Object); is || leavesWithItem(p, manifest, ours.Fields) {
			continue
		}
		into := declared
		if around, _ := p[:len(p)-1].Get(manifest.Object); fieldpath.IsFilled(around) {
			into = released
		}
		fieldpath.Each(ours.Fields, func(held fieldpath.Path) {
			if _, there := held.Get(live.Object); there && held.HasPrefix(p) && !isKept(held) {
				fieldpath.Insert(into, held.Clone())
			}
		})
	}
	return released, declared, nil
}

func leavesWithItem(p fieldpath.Path, manifest *unstructured.Unstructured, ours *fieldpath.Set) bool {
	for n := 1; n < len(p); n++ {
		if p[n-1].FieldName != nil || !fieldpath.Has(ours, p[:n]) {
			continue
		}
		if _, declared := p[:n].Get(manifest.Object); !declared {
			return true
		}
	}
	return false
}

// ownable returns the paths, but replaces .metadata with the paths of the manifest's metadata
// fields that can have owners.
func ownable(paths []fieldpath.Path, manifest map[string]any) []fieldpath.Path {
	metadata, _ := manifest["metadata"].(map[string]any)
	var out []fieldpath.Path
	for _, p := range paths {
		if len(p) != 1 || p[0].FieldName == nil || *p[0].FieldName != "metadata" {
			out = append(out, p)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(metadata)) {
			if !fieldpath.IsUnowned(name) {
				out = append(out, p.Child(fieldpath.Element{FieldName: &name}))
			}
		}
	}
	return out
}

// KeyError says that a path names a key field of a list item.
type KeyError struct {
	Path fieldpath.Path
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s is part of the key of its list item, and cannot be yielded on its own", e.Path)
}

func (e *KeyError) Hint() string {
	return "yield the whole item: " + e.Path[:len(e.Path)-1].String()
}
