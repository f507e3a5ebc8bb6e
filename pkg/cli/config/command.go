package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// New returns the verb config.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Generate k8sconnect.yaml from the settings of another tool",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return verb.Usage(cmd, fmt.Errorf("unknown command %q: the only one is import", args[0]))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.AddCommand(newImport(c, streams))
	return cmd
}

type importOptions struct{ file string }

func newImport(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var flags importOptions
	cmd := &cobra.Command{
		Use:   "import --argocd FILE",
		Short: "Print rules for the fields that Argo CD ignores",
		Long: `Print a k8sconnect.yaml that yields the fields listed in spec.ignoreDifferences
of the Applications and ApplicationSets in a file. The server is not contacted.

Entries that no rule can express are listed on stderr with their line numbers.
The exit status is then 1.`,
		Example: `  # Write the file next to the manifests of the Application
  kubectl k8sconnect config import --argocd apps.yaml > shop/k8sconnect.yaml

  # From an Application in a cluster
  kubectl get application shop -n argocd -o yaml |
    kubectl k8sconnect config import --argocd -`,
		Args:              verb.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: verb.Runner(c, streams, func(verb.Invocation) (*importOptions, error) {
			if flags.file == "" {
				return nil, errors.New("nothing to import: name a file with --argocd=FILE")
			}
			return &flags, nil
		}),
	}
	cmd.Flags().StringVar(&flags.file, "argocd", "", "File with Applications and ApplicationSets; - is standard input")
	_ = cmd.MarkFlagFilename("argocd", "yaml", "yml", "json")
	return cmd
}

func (o *importOptions) Execute(_ context.Context, in verb.Invocation) error {
	read := func() ([]byte, error) { return os.ReadFile(o.file) }
	if o.file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(in.Streams.In) }
	}
	data, err := read()
	if err != nil {
		return err
	}
	out, err := Convert(o.file, data)
	if err != nil {
		return err
	}
	// Only the rules go to stdout, so that it can be redirected into k8sconnect.yaml.
	width, _ := verb.Terminal(in.Streams.ErrOut)
	for _, note := range out.Notes {
		fmt.Fprintln(in.Streams.ErrOut, format.Fit("note: ", note, width))
	}
	for _, left := range out.Left {
		fmt.Fprintln(in.Streams.ErrOut, format.Fit("no rule for ", left, width))
	}
	if out.Rules() > 0 {
		text, err := out.YAML()
		if err != nil {
			return err
		}
		if _, err := in.Streams.Out.Write(text); err != nil {
			return err
		}
	} else if len(out.Left) == 0 {
		fmt.Fprintln(in.Streams.ErrOut, "the file lists no ignored fields, so there are no rules to print")
	}
	if len(out.Left) > 0 {
		return verb.ErrNo
	}
	return nil
}
