// Package version implements the verb version.
package version

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

type versions struct {
	Client  build.Info      `json:"client"`
	Server  *version.Info   `json:"server,omitempty"`
	Webhook *webhookVersion `json:"webhook,omitempty"`
}

type options struct {
	clientOnly bool
	output     string
}

// New returns the verb version.
func New(c *connection.Connection, streams genericiooptions.IOStreams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Show the versions of the plugin, the API server and the webhook",
		Args:              verb.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: verb.Runner(c, streams, func(in verb.Invocation) (*options, error) {
			if !slices.Contains([]string{"", "json", "yaml", "kyaml"}, o.output) {
				return nil, fmt.Errorf("-o must be json, yaml or kyaml, not %q", o.output)
			}
			return &o, in.Check()
		}),
	}
	cmd.Flags().BoolVar(&o.clientOnly, "client", false, "Only the version of the plugin; the server is not contacted")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "json, yaml or kyaml; text by default")
	help.Words(cmd, "output", "json", "yaml", "kyaml")
	return cmd
}

func (o *options) Execute(ctx context.Context, in verb.Invocation) error {
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

const (
	webhookSelector     = "app.kubernetes.io/name=k8sconnect"
	webhookVersionLabel = "app.kubernetes.io/version"
)

type webhookVersion struct {
	Installed *bool  `json:"installed,omitempty"`
	Version   string `json:"version,omitempty"`
	Unknown   string `json:"unknown,omitempty"`
}

// webhookOf returns the version of the installed webhook. If the request fails, for example because
// a permission is missing, the version is unknown.
func webhookOf(ctx context.Context, client *client.Client) *webhookVersion {
	kind := schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
	var found *unstructured.Unstructured
	err := client.Select(ctx, kind, object.Selection{Labels: webhookSelector}, "",
		func(u *unstructured.Unstructured) { found = u })
	installed := found != nil
	switch {
	case apierrors.IsForbidden(err):
		return &webhookVersion{Unknown: "no permission to list validatingwebhookconfigurations"}
	case err != nil:
		return &webhookVersion{Unknown: err.Error()}
	case !installed:
		return &webhookVersion{Installed: &installed}
	}
	return &webhookVersion{Installed: &installed, Version: found.GetLabels()[webhookVersionLabel]}
}

func (v *webhookVersion) String() string {
	switch {
	case v.Installed == nil:
		return "unknown, " + format.Plain(v.Unknown)
	case !*v.Installed:
		return "not installed"
	default:
		return cmp.Or(format.Plain(v.Version), "installed, version unknown")
	}
}
