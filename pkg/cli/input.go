package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/printer"
)

// input is the flags of verbs that read manifests.
type input struct {
	filenames      []string
	recursive      bool
	kustomize      string
	selector       string
	skipNonObjects bool
}

// inputOptions is what those flags mean.
type inputOptions struct {
	files     manifest.Options
	scope     plan.Options
	manifests []object.Manifest
	warnings  []manifest.Warning
}

func (f *input) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.filenames, "filename", "f", nil, "File, folder or URL with manifests; - is standard input. Repeatable")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "Look into folders below the folders named with -f")
	flags.StringVarP(&f.kustomize, "kustomize", "k", "", "Folder of a kustomization")
	flags.StringVarP(&f.selector, "selector", "l", "", "Only objects whose labels match, such as app=web,tier!=cache")
	flags.BoolVar(&f.skipNonObjects, "skip-non-objects", false,
		"Leave out files of a folder that hold no Kubernetes object, and say which")
	// They only fail for a flag that there is not.
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.MarkFlagDirname("kustomize")
}

func (f *input) toOptions(streams genericiooptions.IOStreams) (inputOptions, error) {
	if len(f.filenames) == 0 && f.kustomize == "" {
		return inputOptions{}, errors.New("what to read is missing: give -f FILENAME or -k DIRECTORY")
	}
	return inputOptions{
		files: manifest.Options{
			Filenames: filenames(f.filenames), Recursive: f.recursive, Kustomize: f.kustomize,
			Selector: f.selector, SkipNonObjects: f.skipNonObjects, In: streams.In,
		},
	}, nil
}

// filenames splits what -f was given at commas, as kubectl does, but leaves whole
// what is there under its whole name, and URLs, which may well have commas.
func filenames(given []string) []string {
	var all []string
	for _, name := range given {
		_, err := os.Stat(name)
		if err == nil || strings.Contains(name, "://") && !strings.Contains(name, ",http") {
			all = append(all, name)
			continue
		}
		all = append(all, strings.Split(name, ",")...)
	}
	return all
}

// read reads the manifests, and says on stderr what was left out of them.
func (o *inputOptions) read(ctx context.Context, streams genericiooptions.IOStreams) error {
	result, err := manifest.Read(ctx, o.files)
	if err != nil {
		return err
	}
	for _, skipped := range result.Skipped {
		fmt.Fprintf(streams.ErrOut, "skipped %s\n", printer.Plain(skipped.Source.String()+": "+skipped.Reason))
	}
	o.manifests, o.warnings = result.Objects, result.Warnings
	return nil
}

// plan is order for verbs that write fields. Choices that no object of the plan is
// meant by are an error.
func (o *inputOptions) plan(
	ctx context.Context, c *connection, client *cluster.Client, choices predict.Predictor, emit func(event.Event),
) (*plan.Plan, error) {
	p, err := o.order(ctx, c, client, emit)
	if err != nil {
		return nil, err
	}
	return p, checkChoices(p, choices, emit)
}

// order asks the cluster for the kinds of the manifests and puts them in order.
func (o *inputOptions) order(ctx context.Context, c *connection, client *cluster.Client, emit func(event.Event)) (*plan.Plan, error) {
	for _, w := range o.warnings {
		emit(event.Warned{Ref: w.Ref, Text: w.Text + " (" + w.Source.String() + ")"})
	}
	var err error
	if o.scope.Namespace, o.scope.Enforced, err = c.namespace(); err != nil {
		return nil, err
	}
	if o.scope.Kinds, err = kinds(ctx, client, o.manifests); err != nil {
		return nil, err
	}
	p, err := plan.Build(o.manifests, o.scope)
	if err != nil {
		return nil, err
	}
	o.manifests = nil // The plan has them now.
	for _, w := range p.Warnings {
		emit(event.Warned{Ref: w.Ref, Text: w.Text})
	}
	return p, nil
}

// kinds asks, side by side, how the cluster serves each kind of the manifests.
// What it does not serve is left out: perhaps the set defines it.
func kinds(ctx context.Context, client *cluster.Client, manifests []object.Manifest) (map[schema.GroupVersionKind]object.Kind, error) {
	var (
		mu    sync.Mutex
		group errgroup.Group
		asked = map[schema.GroupVersionKind]bool{}
		known = map[schema.GroupVersionKind]object.Kind{}
	)
	for _, m := range manifests {
		gvk := m.Object.GroupVersionKind()
		if asked[gvk] {
			continue
		}
		asked[gvk] = true
		group.Go(func() error {
			kind, err := client.Kind(ctx, gvk)
			if _, missing := errors.AsType[*cluster.NoKindError](err); missing {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			known[gvk] = kind
			return err
		})
	}
	return known, group.Wait()
}
