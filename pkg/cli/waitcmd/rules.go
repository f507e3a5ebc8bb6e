package waitcmd

import (
	"context"
	"fmt"
	"os"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// readRules reads a file with rules for when objects of a kind are ready; without one, there are
// no rules.
func readRules(file string) (*condition.Set, error) {
	if file == "" {
		return &condition.Set{}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("readiness: %w", err)
	}
	rules, err := condition.ParseRules(file, data)
	return rules, verb.FlagError("readiness", err)
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
