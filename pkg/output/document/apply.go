package document

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// NewApply returns the document of an apply.
func NewApply(b output.Base) output.Results {
	waited := map[object.Key]*waitEntry{}
	r := newResult[appliedObject](b, "ApplyResult")
	r.Run, r.DryRun = &b.Run, b.DryRun
	return &gathered[appliedObject]{
		Base: b, result: r, actions: output.ApplyActions(), warnings: warnings{},
		of: func(e event.Event) (object.Ref, *appliedObject) {
			switch e := e.(type) {
			case event.Applied:
				o := appliedOf(e)
				return e.Ref, &o
			case event.Waited:
				waited[e.Ref.Key()] = waitEntryOf(e)
			}
			return object.Ref{}, nil
		},
		complete: func(o *appliedObject, ref object.Ref, warned []string) {
			o.Warnings, o.Wait = warned, waited[ref.Key()]
		},
		suite: func(r result[appliedObject]) junitSuite { return applySuite(r, b.State.InFlags()) },
	}
}
