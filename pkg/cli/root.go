// Package cli is the root command. Each verb is a package below it, named after the verb: flags are
// parsed into options, and the options pass a client and a printer to an engine. Start with [Main].
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/delete"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/deprecated"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/fights"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/releases"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/usage"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/version"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Main runs the plugin once and returns its exit status. args[0] is the name of the program.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	// A closed pipe ("… | head") must not end an apply halfway: the write returns an error instead.
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGPIPE)
	defer signal.Stop(closed)

	vault := redact.NewVault()
	answer := &verb.Sink{Writer: streams.Out}
	streams.Out = answer
	var flush func()
	streams.Out, streams.ErrOut, flush = connection.Writers(vault, streams.Out, streams.ErrOut)
	defer flush()
	r := newRoot(streams, vault)
	r.SetArgs(called(args))
	cmd, err := r.ExecuteContextC(ctx)
	if err != nil && !r.started {
		err = verb.Usage(cmd, r.misuse(args[1:], err))
	}
	flush()
	if lost := answer.Lost(); err == nil && !verb.Unread(lost) {
		err = lost
	}
	code := verb.Status(streams, verb.Reporting{Say: r.connection.Say, Verbose: r.connection.Verbosity > 0}, err)
	verb.ReportRun(r.connection, streams.ErrOut, err)
	return code
}

// called returns the arguments of the call. If kubectl asks for completions, it runs the plugin as
// [completion.Program]; called then prepends cobra's completion command.
func called(args []string) []string {
	program := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if program == completion.Program {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

type root struct {
	*cobra.Command
	connection *connection.Connection
	started    bool
}

func newRoot(streams genericiooptions.IOStreams, vault *redact.Vault) *root {
	r := &root{}
	r.Command = &cobra.Command{
		Use:   "kubectl-k8sconnect",
		Short: "Server-side apply that explains itself",
		Long: `Server-side apply that you can trust: it explains conflicts field by field, and
diff shows how the server would really change the fields that you own.

Exit status, the same for every verb: 0 yes, 1 no, 2 could not tell.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl k8sconnect"},
		SilenceErrors:     true,
		SilenceUsage:      true,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c := connection.New(vault)
	r.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		r.started = true
		c.Verb = cmd.Name()
	}
	r.SetIn(streams.In)
	r.SetOut(streams.Out)
	r.SetErr(streams.ErrOut)
	r.SetUsageFunc(usage.Print(func() (func() int, bool) { return verb.Terminal(streams.Out) }))

	r.SetHelpFunc(usage.Show)
	c.AddFlags(r.PersistentFlags())
	usage.AddAll(r.PersistentFlags())
	r.connection = c
	r.AddCommand(
		apply.New(c, streams),
		diff.New(c, streams),
		owners.New(c, streams),
		give.New(c, streams),
		config.New(c, streams),
		delete.New(c, streams),
		deprecated.New(c, streams),
		fights.New(c, streams),
		history.New(c, streams),
		releases.New(c, streams),
		sets.New(c, streams),
		stuck.New(c, streams),
		unready.New(c, streams),
		wait.New(c, streams),
		version.New(c, streams),
	)
	completion.Add(r.Command, c)
	return r
}

func (r *root) misuse(args []string, err error) error {
	if hint := help.ForeignHint(err); hint != "" {
		return &object.HintedError{Err: err, Advice: hint}
	}
	if object.HintOf(err) != "" {
		return err
	}
	unknown, _ := errors.AsType[*pflag.NotExistError](err)
	text, _, _ := strings.Cut(err.Error(), "\n")
	err = fmt.Errorf("%s", text)
	at, rest, notFound := r.Find(args)
	if near := help.NearFlag(at, unknown); near != "" {
		return &object.HintedError{Err: err, Advice: "did you mean " + near + "?"}
	}
	if notFound == nil || len(rest) == 0 {
		return err
	}
	if hint := help.ForeignVerb(rest[0], rest[1:]...); hint != "" {
		return &object.HintedError{Err: err, Advice: hint}
	}
	const near = 2
	at.SuggestionsMinimumDistance = near
	if similar := at.SuggestionsFor(rest[0]); len(similar) > 0 {
		return &object.HintedError{Err: err, Advice: "did you mean " + strings.Join(similar, " or ") + "?"}
	}
	return err
}
