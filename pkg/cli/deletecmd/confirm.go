package deletecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// checkFinalizer rejects every way to remove a finalizer from objects that were not
// named.
func (f *deleteFlags) checkFinalizer(t target.Targets, streams genericiooptions.IOStreams) error {
	switch {
	case f.finalizer == "" && f.yes:
		return errors.New("--yes goes with --remove-finalizer")
	case f.finalizer == "":
		return nil
	case len(t.Named) == 0:
		return &object.HintedError{
			Err:    errors.New("--remove-finalizer needs the names of the objects"),
			Advice: "name each as TYPE/NAME; a finalizer is never removed by selector or file",
		}
	case f.dryRun != "none":
		return errors.New("--remove-finalizer and --dry-run cannot be combined")
	case !f.yes && !verb.CanAsk(streams):
		return &object.HintedError{
			Err:    errors.New("--remove-finalizer needs confirmation, but there is no terminal"),
			Advice: "give --yes if you know what the finalizer was there for",
		}
	}
	return nil
}

// confirmation asks before finalizers are removed.
func (f *deleteFlags) confirmation(out *printer.Printer, streams genericiooptions.IOStreams) func(context.Context, string, []object.Ref) error {
	return func(ctx context.Context, finalizer string, refs []object.Ref) error {
		if f.yes {
			return nil
		}
		var err error
		out.Pause(func() {
			fmt.Fprintln(streams.ErrOut, "Everything that the finalizer's controller would clean up is left behind.")
			var yes bool
			yes, err = verb.Ask(ctx, streams, fmt.Sprintf("Remove finalizer %s from %s?", format.Plain(finalizer), namesOf(refs)))
			if err == nil && !yes {
				err = deletion.ErrDeclined
			}
		})
		return err
	}
}

func namesOf(refs []object.Ref) string {
	const shown = 5
	var names []string
	for _, ref := range refs[:min(shown, len(refs))] {
		names = append(names, format.Plain(ref.String()))
	}
	if more := len(refs) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
