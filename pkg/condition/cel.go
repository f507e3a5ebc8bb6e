package condition

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// language is CEL for one kind.
type language struct {
	gvk schema.GroupVersionKind
	// root is the schema of the kind; nil where everything is dynamic.
	root *spec.Schema
	// base is Kubernetes' environment. It costs some milliseconds, once a process,
	// so it is made when the first expression is compiled.
	base *cel.Env
}

func (l *language) compile(one Spec) (*expression, error) {
	parsed, issues := l.kubernetes().Parse(one.Expression)
	if issues.Err() != nil {
		return nil, syntaxError(one, issues)
	}
	read := readsOf(parsed.NativeRep().Expr(), self)
	env, shape, err := l.environment(read)
	if err != nil {
		return nil, &CompileError{Spec: one, Message: text.OneLine(err.Error())}
	}
	// Parsed again: only where macros are tracked can parts be shown as written.
	if parsed, issues = env.Parse(one.Expression); issues.Err() != nil {
		return nil, syntaxError(one, issues)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, typeError(one, l.gvk.Kind, l.root, parsed.NativeRep(), issues)
	}
	if t := checked.OutputType(); !t.IsEquivalentType(cel.BoolType) && !t.IsEquivalentType(cel.DynType) {
		return nil, notBoolean(one, t)
	}
	x := &expression{gvk: l.gvk, shape: shape, read: read}
	if err := x.plan(env, checked); err != nil {
		return nil, &CompileError{Spec: one, Message: text.OneLine(err.Error())}
	}
	x.explanation = explain(checked.NativeRep())
	return x, nil
}

// kubernetes returns Kubernetes' environment.
func (l *language) kubernetes() *cel.Env {
	if l.base == nil {
		// What Kubernetes accepts in stored expressions is all that it knows.
		l.base = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	}
	return l.base
}

// environment returns the environment in which self has the type of what is read
// of it.
func (l *language) environment(r reads) (*cel.Env, *shape, error) {
	options := []cel.EnvOption{cel.EnableMacroCallTracking()}
	if l.root == nil {
		env, err := l.kubernetes().Extend(append(options, cel.Variable(self, cel.DynType))...)
		return env, nil, err
	}
	sh := shapeOf(l.root, r)
	decl := common.SchemaDeclType(sh, false)
	if decl == nil {
		return nil, nil, fmt.Errorf("the schema of %s has no type", l.gvk.Kind)
	}
	decl = decl.MaybeAssignTypeName("Self")
	if decl.IsObject() {
		provider := apiservercel.NewDeclTypeProvider(decl)
		provider.SetRecognizeKeywordAsFieldName(true)
		typed, err := provider.EnvOptions(l.kubernetes().CELTypeProvider())
		if err != nil {
			return nil, nil, fmt.Errorf("types of %s: %w", l.gvk.Kind, err)
		}
		options = append(options, typed...)
	}
	env, err := l.kubernetes().Extend(append(options, cel.Variable(self, decl.CelType()))...)
	return env, sh, err
}
