package condition

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// maxCost bounds one judgement, in the units of CEL, as the API server bounds the
	// rules of a CRD (apiserver/pkg/apis/cel, PerCallLimit; ten times that, for
	// nobody else waits for it).
	maxCost = 10_000_000
	// interruptEach is after how many rounds of a loop the context is asked, and
	// longest how long one judgement may take: loops in loops can cost little and
	// take for ever.
	interruptEach = 100
	longest       = 2 * time.Second
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

func (l *language) compile(one Spec) (judge, error) {
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
		return nil, l.typeError(one, parsed.NativeRep(), issues)
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

// plan makes the programs. There are two: cel-go (v0.29.2) counts no cost, and so
// knows no limit, while it tracks state. What the first ends within its bounds, the
// second may repeat to tell how.
func (x *expression) plan(env *cel.Env, checked *cel.Ast) error {
	interruptible := cel.InterruptCheckFrequency(interruptEach)
	var programErr, trackingErr error
	x.program, programErr = env.Program(checked, cel.CostLimit(maxCost), interruptible)
	x.tracking, trackingErr = env.Program(checked, cel.EvalOptions(cel.OptTrackState), interruptible)
	return errors.Join(programErr, trackingErr)
}

// written returns a part of an expression as it is written.
func written(e ast.Expr, info *ast.SourceInfo) string {
	s, err := cel.ExprToString(e, info)
	if err != nil {
		return "it"
	}
	// It is wrapped at operators, never inside of a text.
	return strings.ReplaceAll(s, "\n", " ")
}
