package document

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

func textsOf(paths []fieldpath.Path) []string {
	var texts []string
	for _, path := range paths {
		texts = append(texts, path.String())
	}
	return texts
}

func contestedOf(conflicts []managedfields.Conflict) []contestedPath {
	var list []contestedPath
	for _, c := range conflicts {
		entry := contestedPath{Path: c.Path.String(), Yours: c.Yours, Same: c.SameValue, Owners: orEmpty(c.Owners)}
		if c.HasLive {
			entry.Live = &c.Live
		}
		list = append(list, entry)
	}
	return list
}

// changesOf omits From or To if the path is absent on that side: null is a value.
func changesOf(changes []managedfields.Change) []changedPath {
	var list []changedPath
	for _, c := range changes {
		entry := changedPath{Path: c.Path.String(), Change: c.Kind, Atomic: c.Atomic, Same: c.SameValue, Owners: c.Owners}
		if c.Kind != managedfields.Added {
			entry.From = &c.From
		}
		if c.Kind != managedfields.Removed {
			entry.To = &c.To
		}
		list = append(list, entry)
	}
	return list
}

// orEmpty returns a copy that JSON writes as [] instead of null.
func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	return &fault{Reason: format.Reason(err), Message: err.Error(), Hint: strings.Join(format.Hints(err), "\n")}
}

func faultsOf(errs []error) []*fault {
	var list []*fault
	for _, err := range errs {
		list = append(list, faultOf(err))
	}
	return list
}

func sourceOf(s object.Source) string {
	if s.File == "" {
		return ""
	}
	return s.String()
}
