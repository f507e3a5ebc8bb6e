package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
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
	manifests manifest.Options
	scope     plan.Options
}

func (f *input) add(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&f.filenames, "filename", "f", nil, "File, folder or URL with manifests; - is standard input. Repeatable")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "Look into folders below the folders named with -f")
	flags.StringVarP(&f.kustomize, "kustomize", "k", "", "Folder of a kustomization")
	flags.StringVarP(&f.selector, "selector", "l", "", "Only objects whose labels match, such as app=web,tier!=cache")
	flags.BoolVar(&f.skipNonObjects, "skip-non-objects", false,
		"Leave out files of a folder that hold no Kubernetes object, and say which")
}

func (f *input) toOptions(c *connection, streams genericiooptions.IOStreams) (inputOptions, error) {
	if len(f.filenames) == 0 && f.kustomize == "" {
		return inputOptions{}, errors.New("what to read is missing: give -f FILENAME or -k DIRECTORY")
	}
	namespace, enforced, err := c.namespace()
	if err != nil {
		return inputOptions{}, err
	}
	return inputOptions{
		manifests: manifest.Options{
			Filenames: f.filenames, Recursive: f.recursive, Kustomize: f.kustomize,
			Selector: f.selector, SkipNonObjects: f.skipNonObjects, In: streams.In,
		},
		scope: plan.Options{Namespace: namespace, Enforced: enforced},
	}, nil
}

// read reads the manifests, and says on stderr what was left out.
func (o *inputOptions) read(ctx context.Context, streams genericiooptions.IOStreams) ([]object.Manifest, error) {
	result, err := manifest.Read(ctx, o.manifests)
	if err != nil {
		return nil, err
	}
	for _, skipped := range result.Skipped {
		fmt.Fprintf(streams.ErrOut, "skipped %s: %s\n", skipped.Source, skipped.Reason)
	}
	for _, warning := range result.Warnings {
		fmt.Fprintf(streams.ErrOut, "warning: %s: %s: %s\n", warning.Source, warning.Ref, warning.Text)
	}
	return result.Objects, nil
}

// plan asks the cluster for the kinds of the manifests and puts them in order.
func (o *inputOptions) plan(ctx context.Context, client *cluster.Client, manifests []object.Manifest) (*plan.Plan, plan.Options, error) {
	scope := o.scope
	scope.Kinds = map[schema.GroupVersionKind]object.Kind{}
	asked := map[schema.GroupVersionKind]bool{}
	for _, m := range manifests {
		gvk := m.Object.GroupVersionKind()
		if asked[gvk] {
			continue
		}
		asked[gvk] = true
		kind, err := client.Kind(ctx, gvk)
		var missing *cluster.NoKindError
		switch {
		case errors.As(err, &missing): // perhaps defined by the set
		case err != nil:
			return nil, scope, err
		default:
			scope.Kinds[gvk] = kind
		}
	}
	p, err := plan.Build(manifests, scope)
	return p, scope, err
}

// serial makes calls of fn wait for each other.
func serial[T any](fn func(T)) func(T) {
	var mu sync.Mutex
	return func(v T) {
		mu.Lock()
		defer mu.Unlock()
		fn(v)
	}
}
