package fieldpath

import smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Element is one step of a path: the name of a field, or the identity of a list item.
type Element = smd.PathElement

// FieldElement returns the element of a field of a map.
func FieldElement(name string) Element { return smd.FieldNameElement(name) }
