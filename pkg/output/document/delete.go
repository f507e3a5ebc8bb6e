package document

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// NewDelete returns the document of a delete.
func NewDelete(b output.Base) output.Results {
	d := gather(b, "DeleteResult", output.DeleteActions(), only(deletedOf), func(o *stuckObject, x extras) { o.Warnings = x.warnings }, deleteSuite)
	d.result.DryRun = b.DryRun
	return d
}

// deleteSuite makes each object a test case, which fails if the object still exists, and is an
// error if that is unknown.
func deleteSuite(result result[stuckObject]) junitSuite {
	suite := junitSuite{Name: "delete", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("delete", o.objectName, o.Source, append(format.Lines(o.Reason), o.Warnings...))
		switch o.Action { //nolint:exhaustive // all others went well
		case event.Remains, event.Failed:
			c.Failure = stuckProblem(o.Action, o)
		case event.Unknown:
			c.Error = problem(o.Action, o.Error, nil)
		case event.Skipped:
			c.Skipped = problem(o.Action, o.Error, nil)
		}
		suite.add(c)
	}
	return suite
}
