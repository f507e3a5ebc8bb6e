// Package deprecated implements the verb deprecated, which finds uses of API versions that an
// upgrade removes.
package deprecated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation/usage"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

type flags struct {
	input      input.Flags
	everywhere bool
	helm       bool
	release    string
	output     string
}

type options struct {
	files      *manifest.Options
	live, helm bool
	everywhere bool
	labels     string
	// A zero release means the minor release after the server's.
	release deprecation.Release
	run     string
	out     *printer.Printer
}

// New returns the verb deprecated.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "deprecated",
		Short: "Find out who still uses APIs that an upgrade removes",
		Long: `Find out who still uses API versions and fields that a release of Kubernetes
removes. The report lists managers (from the managed fields of live objects),
manifests (by file and line) and Helm releases. An old entry of a manager that
now writes another version is only counted. Nothing is changed.

Live objects are those in the namespace, or in all namespaces with -A. With -f
or -k, live objects are checked only with -A. With --release, a check of files
alone does not contact the server.

Exit status: 0 nothing in use is removed, 1 something is, 2 could not tell.`,
		Example: `  # Everything that blocks the next minor release
  kubectl k8sconnect deprecated -A --helm-releases

  # Check manifests for removals in 1.38, without a server
  kubectl k8sconnect deprecated -R -f deploy --release=1.38

  # A summary for a GitHub job
  kubectl k8sconnect deprecated -k overlays/prod -o markdown >> "$GITHUB_STEP_SUMMARY"`,
		Args:              verb.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              verb.Runner(c, streams, f.toOptions),
	}
	cmd.Flags().SortFlags = false
	f.input.AddFiles(cmd)
	cmd.Flags().BoolVarP(&f.everywhere, "all-namespaces", "A", false, "Live objects and releases in all namespaces, and cluster-scoped objects")
	cmd.Flags().BoolVar(&f.helm, "helm-releases", false, "Also check the manifests of Helm releases; they are read from Secrets and ConfigMaps")
	cmd.Flags().StringVar(&f.release, "release", "", "Minor release to upgrade to, such as 1.38; by default the one after the server's")
	verb.OutputFlag(cmd, &f.output, printer.Formats(printer.OfDeprecated), "")
	help.Words(cmd, "release")
	return cmd
}

func (f *flags) toOptions(in verb.Invocation) (*options, error) {
	inFiles := len(f.input.Filenames) > 0 || f.input.Kustomize != ""
	o := &options{live: f.everywhere || !inFiles, helm: f.helm, everywhere: f.everywhere, labels: f.input.Selector}
	var releaseErr, filesErr error
	if f.release != "" {
		if o.release, releaseErr = deprecation.ParseRelease(f.release); releaseErr == nil {
			releaseErr = known(o.release)
		}
	}
	if inFiles {
		var read input.Options
		read, filesErr = f.input.ToOptions(in.Streams)
		o.files = &read.Files
		o.files.Hooks, o.files.SkipInvalid, o.files.AsIs, o.files.Unnamed, o.files.Secrets = manifest.HooksApply, true, true, true, in.Vault
	} else if f.input.Recursive {
		filesErr = errors.New("-R requires -f")
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfDeprecated, print)
	return o, errors.Join(verb.FlagError("--release", releaseErr), filesErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

// known refuses a release whose removals the plugin does not know.
func known(r deprecation.Release) error {
	oldest, last := deprecation.Known()
	if r.Compare(oldest) >= 0 && r.Compare(last) <= 0 {
		return nil
	}
	return object.Hinted(fmt.Sprintf("this version of the plugin knows the releases from %s to %s; for the latest of them, it knows only announced removals", oldest, last),
		"the removals in Kubernetes %s are not known", r)
}

func (o *options) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in)
	return verb.Finish(err, o.out.Close(ctx))
}

func (o *options) work(ctx context.Context, in verb.Invocation) error {
	s := &search{options: o, in: in, question: &usage.Question{Release: o.release}}
	s.tally = usage.New(s.question)
	// Without --release, files are checked for the release after the server's.
	if o.live || o.helm || o.release.IsZero() {
		if err := s.search(ctx); err != nil {
			return err
		}
	}
	whole := o.files == nil || s.manifests(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	found := s.tally.Result()
	found.Stored, found.Unread = s.stored, s.unread
	slices.SortFunc(found.Stored, func(a, b event.StoredVersions) int { return strings.Compare(a.Definition, b.Definition) })
	if o.live {
		found.Namespace = s.namespace
	}
	o.out.Print(found)
	unread := survey.Unread(s.unread, "reading them requires the verb list; see: "+command.Kubectl("auth", "can-i")+" --list", in.Verbosity > 0)
	// A use that is removed decides the exit status, whatever could not be read.
	goes := slices.ContainsFunc(found.Uses, func(u event.DeprecatedUse) bool { return u.Goes })
	switch {
	case goes && unread != nil:
		o.out.Print(event.Warned{Text: unread.Error()})
		return verb.ErrNo
	case goes:
		return verb.ErrNo
	case unread == nil && !whole:
		return verb.ErrUnknown
	}
	return unread
}
