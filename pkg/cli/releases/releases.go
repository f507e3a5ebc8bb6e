// Package releases implements the verb releases, which forecasts the next upgrade of Helm releases.
package releases

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type flags struct {
	everywhere  bool
	chartOutput string
	output      string
}

type options struct {
	// name is empty for all releases.
	name       string
	everywhere bool
	// chart replaces the stored manifest; it is nil if there is none. chartFile is its name.
	chart     helmrelease.ChartOutput
	chartFile string
	run       string
	out       *printer.Printer
}

// New returns the verb releases.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "releases [NAME]",
		Short: "Find out which Helm releases will fail to upgrade, and why",
		Long: `Forecast the next helm upgrade of each release: the fields at which it will
conflict, with their owners, the fields that a client-side upgrade will
overwrite, objects that are gone or belong to another release, and the command
that settles the conflicts. Nothing is changed.

The manifest is that of the newest revision. For the next version of a chart,
pass its output with --chart-output.

Exit status: 0 all would succeed, 1 one would fail, 2 could not tell.`,
		Example: `  # All releases of the cluster
  kubectl k8sconnect releases -A

  # The next version of a chart
  helm upgrade web ./web -n shop --dry-run=server |
    kubectl k8sconnect releases web -n shop --chart-output=-`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completion.Releases(c),
		RunE:              verb.Runner(c, streams, f.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVarP(&f.everywhere, "all-namespaces", "A", false, "Releases in all namespaces")
	cmd.Flags().StringVar(&f.chartOutput, helmrelease.ChartOutputFlag, "",
		"File, or - for stdin, with the output of helm template or helm upgrade --dry-run: the manifest of the next upgrade. Requires NAME")
	verb.OutputFlag(cmd, &f.output, printer.Formats(printer.OfReleases), "")
	help.Words(cmd, helmrelease.ChartOutputFlag)
	return cmd
}

func (f *flags) toOptions(in verb.Invocation) (*options, error) {
	o := &options{everywhere: f.everywhere, chartFile: f.chartOutput}
	var chartErr, outErr error
	var nameErr error
	if len(in.Args) > 0 {
		o.name = in.Args[0]
		nameErr = checkName(o.name)
	}
	switch {
	case f.chartOutput == "":
	case o.name == "" || f.everywhere:
		chartErr = errors.New("--chart-output requires the name of a release, and cannot be combined with -A")
	default:
		o.chart = helmrelease.Open(f.chartOutput, in.Streams.In)
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	o.out, outErr = printer.For(printer.OfReleases, print)
	return o, errors.Join(nameErr, chartErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

// checkName returns an error for what cannot be the name of a release. The server would refuse a label
// selector with it.
func checkName(name string) error {
	if namespace, own, ok := strings.Cut(name, "/"); ok {
		return object.Hinted("use: "+command.Kubectl("k8sconnect", "releases", own)+" -n "+text.ShellQuote(namespace), "%q is not the NAME of a release", name)
	}
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return object.Hinted("helm list -A shows all releases", "%q is not the NAME of a release: %s", name, faults[0])
	}
	return nil
}

func (o *options) Execute(ctx context.Context, in verb.Invocation) error {
	err := o.work(ctx, in)
	return verb.Finish(err, o.out.Close(ctx))
}

func (o *options) work(ctx context.Context, in verb.Invocation) error {
	server, err := in.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	r := &reader{options: o, vault: in.Vault, server: server}
	if r.own, _, err = in.Namespace(); err != nil {
		return err
	}
	found, err := r.read(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// A missing namespace explains the errors of reads in it.
	if len(found.Found) == 0 && !o.everywhere {
		if missing := target.MissingNamespace(ctx, server, r.own); missing != "" {
			return errors.New(missing)
		}
	}
	if err != nil {
		return err
	}
	o.out.Print(found)
	unread := survey.Unread(found.Unread, "releases are stored in Secrets or ConfigMaps; reading them needs the verb list; see: "+command.Kubectl("auth", "can-i")+" --list", in.Verbosity > 0)
	forecast := func(want event.UpgradeForecast) bool {
		return slices.ContainsFunc(found.Found, func(r event.Release) bool { return r.Forecast == want })
	}
	switch {
	case forecast(event.UpgradeFails):
		if unread != nil {
			o.out.Print(event.Warned{Text: unread.Error()})
		}
		return verb.ErrNo
	case unread == nil && forecast(event.UpgradeUnknown):
		return verb.ErrUnknown
	}
	return unread
}
