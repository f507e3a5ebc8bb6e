package waitcmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// RulesFlag names a table of kinds.
type RulesFlag struct{ file string }

// Add adds the flag to a command's.
func (f *RulesFlag) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "readiness", "", "File with rules of your own for when objects of a kind are ready, in CEL")
	_ = flags.SetAnnotation("readiness", "cobra_annotation_bash_completion_filename_extensions", []string{"yaml", "yml"})
}

// ToRules reads the file; without one, there are no rules.
func (f *RulesFlag) ToRules() (*condition.Set, error) {
	if f.file == "" {
		return &condition.Set{}, nil
	}
	data, err := os.ReadFile(f.file)
	if err != nil {
		return nil, fmt.Errorf("--readiness: %w", err)
	}
	rules, err := condition.ParseRules(f.file, data)
	return rules, verb.FlagError("--readiness", err)
}

// Stating gives each condition "ready" the rules that are stated of kinds.
func Stating(rules *condition.Set, once bool, specs []condition.Spec) {
	for i := range specs {
		if specs[i].Kind == condition.Ready {
			specs[i].Rules, specs[i].Once = rules, once
		}
	}
}

// Ruled is a source that, along with the schema of a kind, reads the rules in the
// annotations of its definition. No schema is requested for kinds with built-in rules.
type Ruled struct {
	wait.Source
	Client *client.Client
	Rules  *condition.Set
}

// Schema implements wait.Source.
func (r Ruled) Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error) {
	name, annotations, err := r.Client.DefinitionAnnotations(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("annotations of customresourcedefinition %s: %w", name, err)
	}
	r.Rules.Learn(kind.GVK.GroupKind(), name, annotations)
	return r.Source.Schema(ctx, kind)
}
