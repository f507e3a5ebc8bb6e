package admission

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// wanted says which parts of a value to read: of a map the fields that it names, of a
// list those of each item. Nil is all of it.
type wanted struct {
	fields map[string]*wanted
	whole  bool
}

// wantedFor returns what to read of an object so that the paths have the same values as
// in the whole object.
func wantedFor(paths []fieldpath.Path) *wanted {
	root := &wanted{}
	root.field("apiVersion").whole = true
	for _, p := range paths {
		root.add(p)
	}
	return root
}

func (w *wanted) add(p fieldpath.Path) {
	for _, element := range p {
		switch {
		case element.FieldName != nil:
			w = w.field(*element.FieldName)
		case element.Key != nil: // An item is found by its key, whatever else it has.
			for _, f := range *element.Key {
				w.field(f.Name).whole = true
			}
		default:
			w.whole = true
		}
	}
	w.whole = true
}

// field marks a field as wanted, and returns what is wanted of it.
func (w *wanted) field(name string) *wanted {
	below, ok := w.fields[name]
	if !ok {
		if w.fields == nil {
			w.fields = map[string]*wanted{}
		}
		below = &wanted{}
		w.fields[name] = below
	}
	return below
}

// of reports whether a field is wanted, and returns what is wanted of it.
func (w *wanted) of(name string) (*wanted, bool) {
	if w == nil || w.whole {
		return nil, true
	}
	below, ok := w.fields[name]
	return below, ok
}
