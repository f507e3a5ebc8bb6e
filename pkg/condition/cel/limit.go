package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// maxSize bounds what one call makes or compares, in bytes of text and items of lists. An
// API server accepts objects of 1.5 MB.
const maxSize = 4 << 20

// limits returns the options that bound an evaluation: by its cost, as the API server does,
// and by the size of what each call makes. Cost alone is not enough: that of a call is known
// when the call is done, and three calls of replace make gigabytes of one object.
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
				return types.NewErr("the expression costs too much: more than %d MB in one call", maxSize>>20)
			}
			return impl(args...)
		}), nil
	}
	return []cel.ProgramOption{
		cel.CostTracking(&library.CostEstimator{}), cel.CostLimit(maxCost),
		cel.InterruptCheckFrequency(interruptEach), cel.CustomDecoratorV2(decorate),
	}
}

// implementation returns the function of a call: that of its overload, or else that which
// chooses one by the types of the arguments.
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

// sizes holds the functions that can make, or walk through, many times what they are given,
// with a bound of how much.
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

// length returns the bytes of a text, the items of a list or a map, or a number as it is.
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

// weight adds to n what a value holds, counted once for each place in which it stands, and
// stops at [maxSize]: a value of a few bytes may hold another a million times.
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
