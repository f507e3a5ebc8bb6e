// Package cel compiles and evaluates CEL over self, an object of one kind. It never sends requests.
// Expressions are typed by the kind's schema, and limited in cost and time. Start with
// [Language.Compile].
package cel

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Language is CEL for one kind.
type Language struct {
	GVK schema.GroupVersionKind
	// Schema is the kind's schema; if it is nil, expressions are untyped.
	Schema *spec.Schema
	// base is Kubernetes' CEL environment. It takes a few milliseconds to build, so it is built
	// only when the first expression is compiled.
	base *cel.Env
}

// Compile compiles a condition. Errors are *Error.
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
	// Only an environment that tracks macros can print them as written.
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
	limits := limits(env)
	var programErr, trackingErr error
	x.program, programErr = env.Program(checked, limits...)
	x.tracking, trackingErr = env.Program(checked, append(limits, cel.EvalOptions(cel.OptTrackState))...)
	if err := errors.Join(programErr, trackingErr); err != nil {
		return nil, &Error{Message: text.OneLine(err.Error())}
	}
	x.explanation = explain(checked.NativeRep())
	return x, nil
}

func (l *Language) kubernetes() *cel.Env {
	if l.base == nil {
		// This is the language that Kubernetes accepts in stored expressions.
		l.base = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	}
	return l.base
}

// environment returns a CEL environment in which self has the types of the fields that the
// expression reads.
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

// maxSize limits the size of the value that one call creates or compares, as the number of bytes in
// its strings plus the number of items in its lists. etcd stores objects of up to 1.5 MB.
const maxSize = 4 << 20

// limits returns options that limit the cost, as in the API server, and the size of each call's
// result. The cost of a call is known only afterwards: calling replace three times can turn one
// object into gigabytes.
func limits(env *cel.Env) []cel.ProgramOption {
	sizes, declared := sizes(), env.Functions()
	decorate := func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || sizes[call.Function()] == nil {
			return i, nil
		}
		bindings, err := declared[call.Function()].Bindings()
		if err != nil {
			return nil, err
		}
		size, impl := sizes[call.Function()], implementation(bindings, call)
		if impl == nil {
			return i, nil
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
			if size(args) > maxSize {
				return types.NewErr("the expression is too expensive: more than %d MB in one call", maxSize>>20)
			}
			return impl(args...)
		}), nil
	}
	return []cel.ProgramOption{
		cel.CostTracking(&library.CostEstimator{}), cel.CostLimit(maxCost),
		cel.InterruptCheckFrequency(interruptEach), cel.CustomDecoratorV2(decorate),
	}
}

// implementation returns the function that implements the overload, or else one that chooses by the
// types of the arguments.
func implementation(bindings []*functions.Overload, call interpreter.InterpretableCall) functions.FunctionOp {
	switch call.Function() { // cel-go evaluates these without a binding.
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }
	}
	for _, name := range []string{call.OverloadID(), call.Function()} {
		for _, b := range bindings {
			switch {
			case b.Operator != name:
			case b.Binary != nil && len(call.Args()) == 2:
				return func(args ...ref.Val) ref.Val { return b.Binary(args[0], args[1]) }
			case b.Unary != nil && len(call.Args()) == 1:
				return func(args ...ref.Val) ref.Val { return b.Unary(args[0]) }
			case b.Function != nil:
				return b.Function
			}
		}
	}
	return nil
}

// sizes returns a function for each CEL function whose result, or number of iterations, may be many
// times the size of the input. Each returned function computes an upper bound from the arguments.
func sizes() map[string]func(args []ref.Val) int {
	sum := func(args []ref.Val) int { return weight(args[0], 0) + weight(args[1], 0) }
	return map[string]func(args []ref.Val) int{
		operators.Add: func(args []ref.Val) int { return length(args[0]) + length(args[1]) },
		"replace": func(args []ref.Val) int {
			return length(args[0]) + (length(args[0])/max(1, length(args[1]))+1)*length(args[2])
		},
		"join": func(args []ref.Val) int {
			if len(args) == 1 {
				return weight(args[0], 0)
			}
			return weight(args[0], 0) + length(args[0])*length(args[1])
		},
		"format":            sum,
		"flatten":           func(args []ref.Val) int { return weight(args[0], 0) },
		"lists.range":       func(args []ref.Val) int { return length(args[0]) },
		operators.Equals:    sum,
		operators.NotEquals: sum,
		operators.In:        sum,
		"indexOf":           sum,
		"lastIndexOf":       sum,
		"distinct":          func(args []ref.Val) int { return weight(args[0], 0) },
		"sets.contains":     sum,
		"sets.equivalent":   sum,
		"sets.intersects":   sum,
	}
}

func length(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case types.Int:
		return int(v)
	case traits.Sizer:
		n, _ := v.Size().(types.Int)
		return int(n)
	}
	return 1
}

// weight adds the size of a value to n, up to [maxSize]. It counts a shared part once for each
// reference, because a value of a few bytes may refer to another one a million times.
func weight(v ref.Val, n int) int {
	if n > maxSize {
		return n
	}
	list, isIterable := v.(traits.Iterable)
	if !isIterable {
		return n + 1 + length(v)
	}
	m, isMap := v.(traits.Mapper)
	for it := list.Iterator(); n <= maxSize && it.HasNext() == types.True; {
		item := it.Next()
		n = weight(item, n+1)
		if isMap {
			n = weight(m.Get(item), n)
		}
	}
	return n
}
