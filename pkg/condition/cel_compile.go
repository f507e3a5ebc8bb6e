package condition

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// language is CEL for one kind.
type language struct {
	kind schema.GroupVersionKind
	// root is the schema of the kind; nil where everything is dynamic.
	root *spec.Schema
	// base is Kubernetes' environment. It costs some milliseconds, once a process,
	// so it is made when the first expression is compiled.
	base *cel.Env
}

func newLanguage(kind schema.GroupVersionKind, root *spec.Schema) *language {
	set := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	return &language{kind: kind, root: root, base: set.StoredExpressionsEnv()}
}

// compile parses, types and plans one expression.
func (l *language) compile(s Spec) (*expression, error) {
	parsed, issues := l.base.Parse(s.Expression)
	if issues.Err() != nil {
		return nil, syntaxError(s, issues.Errors())
	}
	reads := readsOf(parsed.NativeRep().Expr(), self)
	env, sh, err := l.environment(reads)
	if err != nil {
		return nil, &CompileError{Spec: s, Message: oneLine(err.Error())}
	}
	// Parsed again: only with macros tracked can parts be shown as they were typed.
	if parsed, issues = env.Parse(s.Expression); issues.Err() != nil {
		return nil, syntaxError(s, issues.Errors())
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, l.typeError(s, parsed.NativeRep(), issues.Errors())
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, notBoolean(s, t)
	}
	program, err := env.Program(checked,
		cel.EvalOptions(cel.OptTrackState),
		cel.CostLimit(celconfig.PerCallLimit),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, &CompileError{Spec: s, Message: oneLine(err.Error())}
	}
	x := &expression{program: program, shape: sh, tree: reads, secret: isSecret(l.kind)}
	x.explain(checked.NativeRep())
	return x, nil
}

// environment returns the environment in which self has the type of what is read
// of it.
func (l *language) environment(reads tree) (*cel.Env, *shape, error) {
	options := []cel.EnvOption{cel.EnableMacroCallTracking()}
	if l.root == nil {
		env, err := l.base.Extend(append(options, cel.Variable(self, cel.DynType))...)
		return env, nil, err
	}
	sh := shapeOf(l.root, reads)
	decl := common.SchemaDeclType(sh, false)
	if decl == nil {
		return nil, nil, fmt.Errorf("the schema of %s has no type", l.kind.Kind)
	}
	decl = decl.MaybeAssignTypeName(l.kind.Kind)
	if decl.IsObject() {
		provider := apiservercel.NewDeclTypeProvider(decl)
		provider.SetRecognizeKeywordAsFieldName(true)
		typed, err := provider.EnvOptions(l.base.CELTypeProvider())
		if err != nil {
			return nil, nil, fmt.Errorf("the schema of %s: %w", l.kind.Kind, err)
		}
		options = append(options, typed...)
	}
	env, err := l.base.Extend(append(options, cel.Variable(self, decl.CelType()))...)
	return env, sh, err
}

// textOf returns a part of an expression as it is written.
func textOf(e ast.Expr, info *ast.SourceInfo) string {
	text, err := cel.ExprToString(e, info)
	if err != nil {
		return ""
	}
	// It is wrapped at operators, never inside of a text.
	return strings.ReplaceAll(text, "\n", " ")
}
