package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// versions is the output of version.
type versions struct {
	Client build.Info `json:"client"`
	// Server is absent when it was not asked or did not answer.
	Server *version.Info `json:"server,omitempty"`
	// Webhook is absent when the server was not asked or did not answer.
	Webhook *webhookVersion `json:"webhook,omitempty"`
}

// versionOptions are what the flags of version come to.
type versionOptions struct {
	clientOnly bool
	output     string
}

func newVersion(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Show the versions of plugin, API server and webhook",
		Args:              verb.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: verb.Runner(c, streams, func(in verb.Invocation) (*versionOptions, error) {
			if !slices.Contains([]string{"", "json", "yaml", "kyaml"}, o.output) {
				return nil, fmt.Errorf("-o must be json, yaml or kyaml, not %q", o.output)
			}
			return &o, in.Check()
		}),
	}
	cmd.Flags().BoolVar(&o.clientOnly, "client", false, "Only the plugin's version; no server is asked")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "json, yaml or kyaml; text by default")
	help.Words(cmd, "output", "json", "yaml", "kyaml")
	return cmd
}

func (o *versionOptions) Execute(ctx context.Context, in verb.Invocation) error {
	v := versions{Client: build.This()}
	var err error
	if !o.clientOnly {
		v.Server, v.Webhook, err = clusterVersions(ctx, in.Connection)
	}
	if printErr := v.print(in.Streams, o.output); printErr != nil {
		return printErr
	}
	return err
}

// clusterVersions asks the cluster for the versions of what runs there.
func clusterVersions(ctx context.Context, c *connection.Connection) (*version.Info, *webhookVersion, error) {
	client, err := c.Connect(ctx, c.NewRun(), 0, verb.Ignore)
	if err != nil {
		return nil, nil, err
	}
	server, err := client.Version(ctx)
	if err != nil {
		return nil, nil, err
	}
	return server, webhookOf(ctx, client), nil
}

func (v versions) print(streams genericiooptions.IOStreams, output string) error {
	switch output {
	case "":
		var text strings.Builder
		fmt.Fprintf(&text, "client: %s (%s)\n", v.Client.Version, v.Client.Go)
		if v.Server != nil {
			fmt.Fprintf(&text, "server: %s\n", v.Server.GitVersion)
		}
		if v.Webhook != nil {
			fmt.Fprintf(&text, "webhook: %s\n", v.Webhook)
		}
		_, err := io.WriteString(streams.Out, text.String())
		return err
	case "json":
		enc := json.NewEncoder(streams.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	case "kyaml":
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return (&kyaml.Encoder{}).FromYAML(bytes.NewReader(text), streams.Out)
	default:
		text, err := yaml.Marshal(v)
		if err == nil {
			_, err = streams.Out.Write(text)
		}
		return err
	}
}
