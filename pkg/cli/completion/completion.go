// Package completion provides the words that a shell offers for flags and arguments.
package completion

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Program is the program that kubectl calls to complete the plugin's last argument (k/k#105867).
const Program = "kubectl_complete-k8sconnect"

// completerScript finds the plugin in the PATH, as kubectl does. Without standard input, no credential
// program asks for a password.
const completerScript = `#!/bin/sh
exec kubectl-k8sconnect ` + cobra.ShellCompRequestCmd + ` "$@" </dev/null
`

// Add adds completion to every verb. It also adds a kubectl subcommand to cobra's completion
// command.
func Add(root *cobra.Command, c *connection.Connection) {
	known := words{c}
	for _, cmd := range all(root) {
		help.Complete(cmd, "namespace", known.completeNamespaces)
		help.Complete(cmd, "context", known.completeConfig(func(raw api.Config) []string { return slices.Collect(maps.Keys(raw.Contexts)) }))
		help.Complete(cmd, connection.ExpectContext, known.completeConfig(func(raw api.Config) []string { return slices.Collect(maps.Keys(raw.Contexts)) }))
		help.Complete(cmd, "cluster", known.completeConfig(func(raw api.Config) []string { return slices.Collect(maps.Keys(raw.Clusters)) }))
		help.Complete(cmd, "user", known.completeConfig(func(raw api.Config) []string { return slices.Collect(maps.Keys(raw.AuthInfos)) }))
		for _, flag := range []string{verb.SetFlag, verb.SetFlagOfKubectl, "from-set", "to-set"} {
			help.Complete(cmd, flag, known.completeSets)
		}
		help.Words(cmd, "color", "auto", "always", "never")
		help.Words(cmd, "dry-run", "none", "server", "client")
		help.Words(cmd, "validate", "strict", "warn", "ignore")
		help.Complete(cmd, "take", Choices(c, "all"))
		help.Words(cmd, "take", "all") // for a misspelt value
		help.Complete(cmd, "yield", Choices(c))
		for _, name := range []string{
			"field-manager", "adopt-from", "selector", "timeout", "server-timeout", "v",
			"server", "token", "as", "as-group", "as-uid", "as-user-extra", "request-timeout", "tls-server-name",
			"proxy-url", connection.ExpectCluster,
		} {
			help.Words(cmd, name)
		}
	}
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Short = "Generate the completion script for a shell, or for kubectl"
	completion.Long = `Generate a script that lets a shell complete kubectl-k8sconnect, or a program
that lets kubectl complete "kubectl k8sconnect". Each command has its own help.`
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return verb.Usage(cmd, fmt.Errorf("no completion for %q", args[0]))
	}
	for _, cmd := range completion.Commands() {
		ownScript(cmd)
	}
	completion.AddCommand(newCompleter())
}

// all returns the command and all commands below it, subcommands first, because flags are completed
// where they are defined.
func all(cmd *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, below := range cmd.Commands() {
		out = append(out, all(below)...)
	}
	return append(out, cmd)
}

type words struct{ *connection.Connection }

func (c words) completeConfig(names func(api.Config) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := c.Kubeconfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Sorted(slices.Values(names(raw))), cobra.ShellCompDirectiveNoFileComp
	}
}

// completionTimeout bounds a request, because the shell waits for it.
const completionTimeout = 3 * time.Second

func (c words) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return Ask(cmd, c.namespaces)
}

func (c words) namespaces(ctx context.Context) ([]string, error) {
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	kind := object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Resource: "namespaces"}
	return client.Names(ctx, kind, object.Selection{})
}

func newCompleter() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl",
		Short: "Generate the program that kubectl calls for completion",
		Long: `Generate the program that kubectl calls to complete "kubectl k8sconnect …".
It must be on the PATH under the name ` + Program + `, and the
shell needs kubectl's own completion (kubectl completion --help).

A symbolic link with that name to kubectl-k8sconnect works too.`,
		Example: `  # Install it in a folder on the PATH
  cd ~/.local/bin
  kubectl k8sconnect completion kubectl > ` + Program + `
  chmod +x ` + Program + `

  # The same with a link
  ln -s "$(command -v kubectl-k8sconnect)" ` + Program,
		Args:              verb.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), completerScript)
			return err
		},
	}
}

// Targets completes TYPE and names, for verbs that accept TYPE/NAME and TYPE NAME.
func Targets(c *connection.Connection) cobra.CompletionFunc { return words{c}.completeTargets }

// Types completes TYPE, for verbs that accept no names.
func Types(c *connection.Connection) cobra.CompletionFunc { return words{c}.completeTypes }

func (c words) completeTypes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return Ask(cmd, func(ctx context.Context) ([]string, error) {
		client, err := c.ForCompletion(ctx)
		if err != nil {
			return nil, err
		}
		types, err := client.TypeNames(ctx)
		return slices.DeleteFunc(types, func(typ string) bool { return slices.Contains(args, typ) }), err
	})
}

func (c words) completeTargets(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if named := cmd.Flags().Lookup("filename"); named != nil && named.Changed {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return Ask(cmd, func(ctx context.Context) ([]string, error) { return c.targetWords(ctx, args, toComplete) })
}

func (c words) targetWords(ctx context.Context, args []string, toComplete string) ([]string, error) {
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	typ, _, pair := strings.Cut(toComplete, "/")
	switch {
	case len(args) > 0 && !strings.Contains(args[0], "/"):
		names, err := c.names(ctx, client, args[0])
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args[1:], name) }), err
	case pair:
		names, err := c.names(ctx, client, typ)
		for i, name := range names {
			names[i] = typ + "/" + name
		}
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), err
	default:
		return client.TypeNames(ctx)
	}
}

func (c words) names(ctx context.Context, client *client.Client, typ string) ([]string, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	kind, err := client.Resource(ctx, typ)
	if err != nil {
		return nil, err
	}
	return client.Names(ctx, kind, object.Selection{Namespace: target.Scope(kind, namespace)})
}
