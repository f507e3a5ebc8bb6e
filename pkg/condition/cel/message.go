package cel

import (
	"context"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Message is an expression that makes a sentence of an object.
type Message struct {
	program cel.Program
	Read    Reads
}

// CompileMessage returns what makes a sentence by an expression. A fault of the expression is an
// *exprError.
func (l *Language) CompileMessage(typed string) (*Message, error) {
	env, _, err := l.environment(Reads{})
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(typed)
	if issues.Err() != nil {
		return nil, syntaxError(typed, issues)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, typeError(typed, l.GVK.Kind, l.Schema, parsed.NativeRep(), issues)
	}
	if t := checked.OutputType(); !t.IsEquivalentType(cel.StringType) && !t.IsEquivalentType(cel.DynType) {
		return nil, &Error{Message: "it is " + article(t.String()) + ", and a message has to be a string"}
	}
	program, err := env.Program(checked, limits(env)...)
	if err != nil {
		return nil, err
	}
	return &Message{program, readsOf(parsed.NativeRep().Expr(), Self)}, nil
}

// Say returns the sentence on one line; empty where the expression makes none.
func (m *Message) Say(ctx context.Context, obj map[string]any) string {
	ctx, done := context.WithTimeout(ctx, longest)
	defer done()
	made, _, err := m.program.ContextEval(ctx, map[string]any{Self: (*shape)(nil).value(obj)})
	if err != nil {
		return ""
	}
	said, _ := made.(types.String)
	return text.OneLine(string(said))
}
