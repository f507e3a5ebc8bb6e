package document

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// NewDiff returns the document of a diff.
func NewDiff(b output.Base) output.Results {
	return &gathered[comparedObject]{
		Base: b, result: newResult[comparedObject](b, "DiffResult"), actions: output.DiffActions(), warnings: warnings{},
		of: func(e event.Event) (object.Ref, *comparedObject) {
			compared, ok := e.(event.Compared)
			if !ok {
				return object.Ref{}, nil
			}
			o := comparedOf(compared)
			return compared.Ref, &o
		},
		complete: func(o *comparedObject, _ object.Ref, warned []string) { o.Warnings = warned },
		suite:    diffSuite,
	}
}
