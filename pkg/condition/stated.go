package condition

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// stated evaluates ready by a rule that is stated in CEL; what that does not say, the
// conventions do.
type stated struct {
	isReady, fail *placed
	text          string
	// message makes the sentence for what is not ready; nil where the rule has none.
	message cel.Program
	secret  bool
	read    reads
}

// compileRule compiles the formulas of a rule. They are not typed: a rule is for all
// versions of a kind. Errors are *RuleError.
func compileRule(gvk schema.GroupVersionKind, rule KindRule) (*stated, error) {
	l := language{gvk: gvk}
	out := &stated{text: rule.Ready.Text, secret: isSecret(gvk), read: reads{specTimes: true}}
	formula := func(f Formula) (*placed, error) {
		if f.Text == "" {
			return nil, nil
		}
		x, err := l.compile(Spec{Kind: CEL, Text: f.Text, Expression: f.Text})
		if err != nil {
			return nil, f.wrong(err)
		}
		out.read = out.read.and(x.reads())
		return &placed{x, f}, nil
	}
	var readyErr, failedErr, messageErr error
	out.isReady, readyErr = formula(rule.Ready)
	out.fail, failedErr = formula(rule.Failed)
	if rule.Message.Text != "" {
		out.message, messageErr = out.compileMessage(&l, rule.Message)
	}
	return out, errors.Join(readyErr, failedErr, messageErr)
}

// placed is a formula that says where it is written when it cannot be evaluated.
type placed struct {
	*expression
	formula Formula
}

func (p *placed) evaluate(ctx context.Context, obj map[string]any, now time.Time) Verdict {
	v := p.expression.evaluate(ctx, obj, now)
	if v.Err != nil {
		v.Err = p.formula.wrong(v.Err)
	}
	return v
}

// wrong says where the formula is that does not compile.
func (f Formula) wrong(err error) error {
	line := f.Line
	if at, ok := errors.AsType[*CompileError](err); ok && line > 0 && at.Line > 1 {
		line += at.Line - 1
	}
	return &RuleError{Source: f.Source, Line: line, Err: err}
}

func (r *stated) compileMessage(l *language, f Formula) (cel.Program, error) {
	one := Spec{Kind: CEL, Text: f.Text, Expression: f.Text}
	env, _, err := l.environment(reads{})
	if err != nil {
		return nil, f.wrong(err)
	}
	parsed, issues := env.Parse(f.Text)
	if issues.Err() != nil {
		return nil, f.wrong(syntaxError(one, issues))
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, f.wrong(typeError(one, l.gvk.Kind, l.root, parsed.NativeRep(), issues))
	}
	if t := checked.OutputType(); !t.IsEquivalentType(cel.StringType) && !t.IsEquivalentType(cel.DynType) {
		return nil, f.wrong(&CompileError{Spec: one, Message: "it is " + article(t.String()) + ", and a message has to be a string"})
	}
	r.read = r.read.and(readsOf(parsed.NativeRep().Expr(), self))
	program, err := env.Program(checked, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(interruptEach))
	if err != nil {
		return nil, f.wrong(err)
	}
	return program, nil
}

// evaluate asks the rule, once it is clear that the status is of the present generation.
func (r *stated) evaluate(ctx context.Context, obj map[string]any, now time.Time, otherwise conventions) Verdict {
	if v, decided := readiness.Common(obj, now); decided {
		return verdictOf(v)
	}
	byConventions := func() Verdict { return otherwise.evaluate(obj, now) }
	if r.fail != nil {
		if v := r.fail.evaluate(ctx, obj, now); v.Met {
			return Verdict{Failed: true, Reason: "Failed", Message: r.say(ctx, obj, "it has failed", byConventions), Values: v.Values}
		} else if v.Err != nil {
			return v
		}
	}
	if r.isReady == nil {
		return byConventions()
	}
	v := r.isReady.evaluate(ctx, obj, now)
	switch {
	case v.Met:
		return Verdict{Met: true, Reason: "Ready", Message: "the rule of its kind holds: " + text.OneLine(r.text), Values: v.Values}
	case v.Err != nil:
		return v
	}
	if r.fail == nil { // What the rule leaves out, the conventions say.
		if v := byConventions(); v.Failed {
			v.Message = r.say(ctx, obj, v.Message, byConventions)
			return v
		}
	}
	return Verdict{Reason: "InProgress", Message: r.say(ctx, obj, "the rule of its kind does not hold yet: "+text.OneLine(r.text), byConventions), Values: v.Values}
}

// say is the rule's own message, or else what the status says by the conventions, or
// else the sentence.
func (r *stated) say(ctx context.Context, obj map[string]any, sentence string, byConventions func() Verdict) string {
	if r.message != nil && !r.secret {
		ctx, done := context.WithTimeoutCause(ctx, longest, errTooLong)
		defer done()
		if v, _, err := r.message.ContextEval(ctx, map[string]any{self: (*shape)(nil).value(obj)}); err == nil {
			if s, ok := v.(types.String); ok && s != "" {
				return text.OneLine(string(s))
			}
		}
	}
	if v := byConventions(); !v.Met && v.Reason != "NoStatus" {
		return cmp.Or(v.Message, sentence)
	}
	return sentence
}

// ParseRules reads a table of kinds. Each formula is compiled, so that a slip in one is an
// error with the file and the line, whether its kind is waited for or not.
func ParseRules(source string, data []byte) (*Rules, error) {
	table, err := readTable(source, "the file "+source, data)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, rule := range table {
		_, err := compileRule(schema.GroupVersionKind{Group: rule.Group, Kind: rule.Kind}, rule)
		faults = append(faults, err)
	}
	return &Rules{given: table}, errors.Join(faults...)
}
