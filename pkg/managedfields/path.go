package managedfields

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Path names one field of an object: list items by key, never by position.
type Path fieldpath.Path
