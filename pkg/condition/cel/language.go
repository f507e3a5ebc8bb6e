package cel

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

// Language is CEL for one kind.
type Language struct {
	GVK schema.GroupVersionKind
	// root is the schema of the kind; nil where everything is dynamic.
	Schema *spec.Schema
	// base is Kubernetes' environment. It costs some milliseconds, once a process,
	// so it is made when the first expression is compiled.
	base *cel.Env
}

// Compile returns the expression that an object is to fulfil. Errors are *exprError.
func (l *Language) Compile(typed string) (*Expression, error) {
	parsed, issues := l.kubernetes().Parse(typed)
	if issues.Err() != nil {
		return nil, syntaxError(typed, issues)
	}
	read := readsOf(parsed.NativeRep().Expr(), Self)
	env, shape, err := l.environment(read)
	if err != nil {
		return nil, &Error{Message: text.OneLine(err.Error())}
	}
	// Parsed again: only where macros are tracked can parts be shown as written.
	if parsed, issues = env.Parse(typed); issues.Err() != nil {
		return nil, syntaxError(typed, issues)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, typeError(typed, l.GVK.Kind, l.Schema, parsed.NativeRep(), issues)
	}
	if t := checked.OutputType(); !t.IsEquivalentType(cel.BoolType) && !t.IsEquivalentType(cel.DynType) {
		return nil, notBoolean(t)
	}
	x := &Expression{gvk: l.GVK, shape: shape, Read: read, longest: longest}
	if err := x.plan(env, checked); err != nil {
		return nil, &Error{Message: text.OneLine(err.Error())}
	}
	x.explanation = explain(checked.NativeRep())
	return x, nil
}

// kubernetes returns Kubernetes' environment.
func (l *Language) kubernetes() *cel.Env {
	if l.base == nil {
		// It knows the language that Kubernetes accepts in stored expressions.
		l.base = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	}
	return l.base
}

// environment returns the environment in which self has the type of what is read
// of it.
func (l *Language) environment(r Reads) (*cel.Env, *shape, error) {
	options := []cel.EnvOption{cel.EnableMacroCallTracking()}
	if l.Schema == nil {
		env, err := l.kubernetes().Extend(append(options, cel.Variable(Self, cel.DynType))...)
		return env, nil, err
	}
	sh := shapeOf(l.Schema, r)
	decl := common.SchemaDeclType(sh, false)
	if decl == nil {
		return nil, nil, fmt.Errorf("the schema of %s has no type", l.GVK.Kind)
	}
	decl = decl.MaybeAssignTypeName("Self")
	if decl.IsObject() {
		provider := apiservercel.NewDeclTypeProvider(decl)
		provider.SetRecognizeKeywordAsFieldName(true)
		typed, err := provider.EnvOptions(l.kubernetes().CELTypeProvider())
		if err != nil {
			return nil, nil, fmt.Errorf("types of %s: %w", l.GVK.Kind, err)
		}
		options = append(options, typed...)
	}
	env, err := l.kubernetes().Extend(append(options, cel.Variable(Self, decl.CelType()))...)
	return env, sh, err
}
