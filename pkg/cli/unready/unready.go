// Package unready implements the verb unready, which finds objects that are not ready and explains
// why.
package unready

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/await"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type flags struct {
	everywhere bool
	selector   string
	config     config.Flags
	output     string
}

type options struct {
	types      []string
	labels     string
	everywhere bool
	rules      *condition.Set
	run        string
	out        *printer.Printer
}

// New returns the verb unready.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "unready [TYPE…]",
		Short: "Find objects that are not ready, and explain why",
		Long: `Find the objects that are not ready now, with the causes that wait would report.
Each cause is printed once, with all objects that it holds back. Nothing is
changed.

Without a TYPE, all kinds that can be not ready are read once. A Pod whose
Deployment is not ready is represented by the Deployment. Jobs that are still
running and workloads without replicas are not reported, and objects that are
being deleted are only counted. Remarks name Services that select no Pod and
Ingresses whose backends do not exist. Without -A, only objects in the namespace
are read.

Exit status: 0 all are ready, 1 some are not, 2 could not tell.`,
		Example: `  # What is wrong in this cluster?
  kubectl k8sconnect unready -A

  # Only Deployments and StatefulSets of one team
  kubectl k8sconnect unready deployments statefulsets -A -l team=shop

  # A summary for a GitHub job
  kubectl k8sconnect unready -A -o markdown >> "$GITHUB_STEP_SUMMARY"`,
		ValidArgsFunction: completion.Types(c),
		RunE:              verb.Runner(c, streams, f.toOptions),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVarP(&f.everywhere, "all-namespaces", "A", false, "All namespaces, and cluster-scoped objects")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "Label selector, such as app=web,tier!=cache")
	f.config.Add(cmd)
	verb.OutputFlag(cmd, &f.output, printer.Formats(printer.OfUnready), "")
	return cmd
}

func (f *flags) toOptions(in verb.Invocation) (*options, error) {
	o := &options{labels: f.selector, everywhere: f.everywhere}
	var typesErr error
	o.types, typesErr = typesOf(in.Args)
	settings, settingsErr := f.config.Read(in, nil, "")
	var rulesErr error
	o.rules, rulesErr = await.ReadRules(settings.Readiness)
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfUnready, print)
	return o, errors.Join(typesErr, verb.Selector(f.selector), settingsErr, rulesErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

// typesOf splits the arguments into types. Unlike other verbs, unready takes no names.
func typesOf(args []string) ([]string, error) {
	var types []string
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			return nil, object.Hinted("for named objects, use: "+command.Kubectl("k8sconnect", "wait")+" "+arg+" --timeout=0",
				"%q is not a TYPE: unready selects objects only by TYPE and -l", arg)
		}
		for typ := range strings.SplitSeq(arg, ",") {
			if typ == "" {
				return nil, fmt.Errorf("%q: a TYPE is missing", arg)
			}
			if !slices.Contains(types, typ) {
				types = append(types, typ)
			}
		}
	}
	return types, nil
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
	s := &search{rules: o.rules, labels: o.labels, server: server.NoRetry(), schemas: server, now: server.Now()}
	if !o.everywhere {
		if s.namespace, _, err = in.Namespace(); err != nil {
			return err
		}
	}
	s.known = newSnapshot(s.server, s.namespace)
	kinds, err := s.kindsOf(ctx, server, o.types, o.out.Print)
	if err != nil {
		return err
	}
	if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind object.Kind) bool { return kind.Namespaced }) {
		s.namespace = "" // The objects are in none.
	}
	o.out.Print(event.Preparing{Text: "reading " + text.Count(len(kinds), "kind")})
	s.read(ctx, kinds)
	o.out.Print(event.Preparing{Text: "looking for causes"})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.objects == 0 && s.namespace != "" {
		if missing := target.MissingNamespace(ctx, server, s.namespace); missing != "" {
			return errors.New(missing)
		}
	}
	found, err := s.result(ctx)
	if err != nil {
		return err
	}
	o.out.Print(found)
	unread := survey.Unread(found.Unread, "reading them requires the verb list; see: "+command.Kubectl("auth", "can-i")+" --list", in.Verbosity > 0)
	// An object that is not ready decides the exit status. Unread kinds matter only if all others are ready.
	if len(found.Found) == 0 {
		return unread
	}
	if unread != nil {
		o.out.Print(event.Warned{Text: unread.Error()})
	}
	return verb.ErrNo
}
