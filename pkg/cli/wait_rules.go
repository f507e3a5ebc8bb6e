package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// rulesFlag names a table of kinds.
type rulesFlag struct{ file string }

func (f *rulesFlag) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "readiness", "", "File with rules of your own for when objects of a kind are ready, in CEL")
	_ = flags.SetAnnotation("readiness", "cobra_annotation_bash_completion_filename_extensions", []string{"yaml", "yml"})
}

func (f *rulesFlag) toRules() (*condition.Rules, error) {
	if f.file == "" {
		return &condition.Rules{}, nil
	}
	data, err := os.ReadFile(f.file)
	if err != nil {
		return nil, fmt.Errorf("--readiness: %w", err)
	}
	rules, err := condition.ParseRules(f.file, data)
	return rules, flagError("--readiness", err)
}

// stating gives each condition "ready" the rules that are stated of kinds.
func stating(rules *condition.Rules, once bool, specs []condition.Spec) {
	for i := range specs {
		if specs[i].Kind == condition.Ready {
			specs[i].Rules, specs[i].Once = rules, once
		}
	}
}

// ruled is a source that, with the schema of a kind, learns what the annotations of its
// definition state. Kinds whose rules are known by heart have no schema asked for.
type ruled struct {
	wait.Source
	client *cluster.Client
	rules  *condition.Rules
}

// Schema implements wait.Source.
func (r ruled) Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error) {
	name, annotations, err := r.client.DefinitionAnnotations(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("annotations of customresourcedefinition %s: %w", name, err)
	}
	r.rules.Learn(kind.GVK.GroupKind(), name, annotations)
	return r.Source.Schema(ctx, kind)
}
