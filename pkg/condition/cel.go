package condition

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
)

// inCEL evaluates an expression.
type inCEL struct{ expression *cel.Expression }

func compileCEL(l *cel.Language, one Spec) (*inCEL, error) {
	x, err := l.Compile(one.Expression)
	if err != nil {
		return nil, one.wrong(err)
	}
	return &inCEL{x}, nil
}

func (c *inCEL) evaluate(ctx context.Context, obj map[string]any, _ time.Time) Verdict {
	r := c.expression.Evaluate(ctx, obj)
	return Verdict{Met: r.Met, Reason: r.Reason, Message: r.Message, Values: r.Values, Err: r.Err}
}

func (c *inCEL) reads() cel.Reads { return c.expression.Read }

// wrong says of an error in the expression where in the text that was typed it is.
func (s Spec) wrong(err error) error {
	at, ok := errors.AsType[*cel.Error](err)
	if !ok {
		return err
	}
	out := &CompileError{Spec: s, Line: at.Line, Column: at.Column, Message: at.Message, Meant: at.Meant, Advice: at.Advice}
	if at.Line == 1 {
		out.Column += utf8.RuneCountInString(s.Text[:max(0, strings.Index(s.Text, s.Expression))])
	}
	return out
}
