package cli

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/document"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// errNothingApplied: manifests were asked for without the word that nothing is to be
// applied.
var errNothingApplied error = &object.HintedError{
	Err:    errors.New("-o manifests prints manifests and applies nothing"),
	Advice: "give --dry-run=client as well; -o objects prints what was applied",
}

// manifests are those of an input, in the order of their apply.
type manifests struct {
	input     *input.Options
	predictor predict.Predictor
	out       *printer.Printer
}

// print orders the manifests by what is known without a server and prints them, so the
// same input gives the same output everywhere. closed ends the printing.
//
// It bypasses the stream that masks known values of Secrets, because the printed
// manifests are there to be applied.
func (o manifests) print(ctx context.Context, c *connection.Connection, streams genericiooptions.IOStreams) (err, closed error) {
	p, err := o.input.Arrange(c, o.out.Print, func() (map[schema.GroupVersionKind]object.Kind, error) {
		return plan.BuiltinKinds(o.input.Manifests), nil
	})
	if err == nil {
		err = input.Check(p, o.predictor, o.out.Print)
	}
	if err != nil {
		return err, o.out.Close(ctx)
	}
	phases := make([]document.ManifestPhase, len(p.Phases))
	for i, ph := range p.Phases {
		phases[i].Name = ph.Name
		for _, item := range ph.Items {
			phases[i].Objects = append(phases[i].Objects, item.Object)
			if isSecret(item) {
				o.out.Print(event.Warned{Ref: item.Ref, Text: "its values are printed as they are written"})
			}
		}
	}
	return nil, errors.Join(document.WriteManifests(connection.Bare(streams.Out), phases), o.out.Close(ctx))
}

// isSecret reports whether an item is a Secret that holds something.
func isSecret(item plan.Item) bool {
	if item.GVK.Group != "" || item.GVK.Kind != "Secret" {
		return false
	}
	return item.Object.Object["data"] != nil || item.Object.Object["stringData"] != nil
}
