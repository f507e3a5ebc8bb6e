package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/past"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
)

type rollbackFlags struct {
	to, confirm, manager string
	yes, wait, atomic    bool
	take, recreate       []string
}

type rollbackOptions struct {
	rollbackFlags
	name string
}

// newRollback is sets rollback.
func newRollback(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Apply an earlier run of a set again",
		Long: `Apply what an earlier run of a set stated, and prune what came since. What that
changes is shown first, and has to be confirmed.

Without --to it is the run before the last; after a run that failed, the last
one that did not.`,
		Example: `  # Back to before the last apply
  kubectl k8sconnect sets rollback web -n shop

  # In CI: show it, and confirm what was shown
  kubectl k8sconnect sets rollback web -n shop --confirm=DIGEST`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              verb.Runner(c, streams, flags.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&flags.to, "to", "", "Id of the RUN to go back to")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "Do it without asking")
	cmd.Flags().StringVar(&flags.confirm, "confirm", "", "The same, but only if it changes what a run without it showed with this DIGEST; for CI")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "Wait until everything is ready, as apply does")
	cmd.Flags().BoolVar(&flags.atomic, "atomic", false, "If it fails, take back what it wrote, as apply does")
	cmd.Flags().StringArrayVar(&flags.take, "take", nil, "Contested path to become the owner of, as of apply. Repeatable")
	cmd.Flags().StringArrayVar(&flags.recreate, "recreate", nil, "KIND[/NAME] to delete and create anew if need be, as of apply. Repeatable")
	cmd.Flags().StringVar(&flags.manager, "field-manager", "k8sconnect", "Our name to the server: the owner of what is applied")
	return cmd
}

func (f *rollbackFlags) toOptions(in verb.Invocation) (*rollbackOptions, error) {
	if len(in.Args) == 0 {
		return nil, errors.New("no set named")
	}
	_, _, err := applyset.ParseName(in.Args[0])
	return &rollbackOptions{rollbackFlags: *f, name: in.Args[0]}, errors.Join(err, in.Check())
}

func (o *rollbackOptions) Execute(ctx context.Context, in verb.Invocation) error {
	manifests, err := o.earlier(ctx, in)
	if err != nil {
		return err
	}
	text, err := o.text(manifests)
	if err != nil {
		return err
	}
	// It is shown and done by the verbs that show and do such things.
	var shown bytes.Buffer
	streams := in.Streams
	streams.In, streams.Out = bytes.NewReader(text), io.MultiWriter(in.Streams.Out, &shown)
	differs := o.call(ctx, newDiff(in.Connection, streams), "--prune")
	if !errors.Is(differs, verb.ErrNo) {
		return differs // Nothing would change, or the result is unknown.
	}
	if err := o.confirmed(ctx, in.Streams, shown.Bytes()); err != nil {
		return err
	}
	streams = in.Streams
	streams.In = bytes.NewReader(text)
	args := []string{"--prune", "--yes"}
	if o.wait {
		args = append(args, "--wait")
	}
	if o.atomic {
		args = append(args, "--atomic")
	}
	return o.call(ctx, newApply(in.Connection, streams), args...)
}

// earlier returns what the run stated that is gone back to.
func (o *rollbackOptions) earlier(ctx context.Context, in verb.Invocation) ([]*unstructured.Unstructured, error) {
	tell := func(e event.Event) {
		if w, ok := e.(event.Warned); ok {
			fmt.Fprintf(in.Streams.ErrOut, "warning: %s: %s\n", layout.Plain(w.Ref.String()), layout.Plain(w.Text))
		}
	}
	client, err := in.Connect(ctx, in.NewRun(), 0, tell)
	if err != nil {
		return nil, err
	}
	namespace, _, err := in.Namespace()
	if err != nil {
		return nil, err
	}
	set, err := sets.Find(ctx, client, o.name, namespace)
	if err != nil {
		return nil, err
	}
	if !set.Exists {
		return nil, fmt.Errorf("there is no set %s", set.Record.Parent)
	}
	keeper := past.Keeper{Server: client, Parent: set.Record.Parent, Emit: tell}
	runs, faults, err := keeper.Runs(ctx)
	if err != nil {
		return nil, err
	}
	for _, fault := range faults {
		tell(event.Warned{Ref: set.Record.Parent, Text: fault.Error()})
	}
	to, err := history.To(runs, o.to)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(in.Streams.ErrOut, "back to run %s of %s, by %s\n", layout.Plain(to.ID), to.Started.Format(time.RFC3339), layout.Plain(to.Who))
	return keeper.Manifests(ctx, to, o.manager)
}

// text writes manifests as input.
func (o *rollbackOptions) text(manifests []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for _, u := range manifests {
		text, err := json.Marshal(u.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s\n", text)
	}
	return out.Bytes(), nil
}

// call runs another verb on the manifests.
func (o *rollbackOptions) call(ctx context.Context, cmd *cobra.Command, args ...string) error {
	args = append(args, "-f", "-", "--"+sets.NameFlag+"="+o.name, "--helm-hooks=apply", "--field-manager="+o.manager)
	for _, path := range o.take {
		args = append(args, "--take="+path)
	}
	for _, text := range o.recreate {
		args = append(args, "--recreate="+text)
	}
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}

// confirmed returns nil if the change that was shown may be made.
func (o *rollbackOptions) confirmed(ctx context.Context, streams genericiooptions.IOStreams, shown []byte) error {
	const enough = 8 // bytes
	sum := sha256.Sum256(shown)
	digest := hex.EncodeToString(sum[:enough])
	switch {
	case o.confirm == digest, o.yes && o.confirm == "":
		return nil
	case o.confirm != "":
		return &object.HintedError{
			Err:    fmt.Errorf("nothing was done: --confirm=%s is for something else than what is shown", o.confirm),
			Advice: "look at it, and confirm it with --confirm=" + digest,
		}
	case !verb.CanAsk(streams):
		return &object.HintedError{
			Err:    errors.New("nothing was done: to go back has to be confirmed, and there is no terminal to ask on"),
			Advice: "confirm what is shown with --confirm=" + digest + ", or give --yes",
		}
	}
	yes, err := verb.Ask(ctx, streams, "Go back to that?")
	if err == nil && !yes {
		err = errors.New("nothing was done")
	}
	return err
}
