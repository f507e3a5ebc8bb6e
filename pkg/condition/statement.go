package condition

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type declared struct {
	isReady, fail *placed
	rule          Rule
	message       *cel.Message
	secret        bool
	read          cel.Reads
}

// The formulas are not typed by a schema, because a rule applies to all versions of a kind. Each
// error is a *Error.
func compileRule(gvk schema.GroupVersionKind, rule Rule) (*declared, error) {
	l := cel.Language{GVK: gvk}
	out := &declared{rule: rule, secret: cel.IsSecret(gvk), read: cel.Reads{SpecTimes: true}}
	formula := func(f Formula) (*placed, error) {
		if f.Text == "" {
			return nil, nil
		}
		x, err := compileCEL(&l, Spec{Kind: CEL, Text: f.Text, Expression: f.Text})
		if err != nil {
			return nil, wrongIn(f, err)
		}
		out.read = out.read.And(x.reads())
		return &placed{x, f}, nil
	}
	var readyErr, failedErr, messageErr error
	out.isReady, readyErr = formula(rule.Ready)
	out.fail, failedErr = formula(rule.Failed)
	if text := rule.Message.Text; text != "" {
		m, err := l.CompileMessage(text)
		if err != nil {
			messageErr = wrongIn(rule.Message, Spec{Kind: CEL, Text: text, Expression: text}.invalid(err))
		} else {
			out.message, out.read = m, out.read.And(m.Read)
		}
	}
	return out, errors.Join(readyErr, failedErr, messageErr)
}

type placed struct {
	*inCEL
	formula Formula
}

func (p *placed) evaluate(ctx context.Context, obj map[string]any, now time.Time) Verdict {
	v := p.inCEL.evaluate(ctx, obj, now)
	if v.Err != nil {
		v.Err = wrongIn(p.formula, v.Err)
	}
	return v
}

func wrongIn(f Formula, err error) error {
	line := f.Line
	if at, ok := errors.AsType[*CompileError](err); ok && line > 0 && at.Line > 1 {
		line += at.Line - 1
	}
	return &Error{Source: f.Source, Line: line, Err: err}
}

// evaluate applies the rule for the kind. A shipped rule may be older than the controller, so a failure that
// the status states outweighs it. A rule without an expression for failure leaves that to the conventions.
func (r *declared) evaluate(ctx context.Context, obj map[string]any, now time.Time, otherwise conventions) Verdict {
	if v, decided := readiness.Settles(obj, now); decided {
		return verdictOf(v)
	}
	byConventions := func() Verdict { return otherwise.evaluate(obj, now) }
	if r.fail != nil {
		if v := r.fail.evaluate(ctx, obj, now); v.Met {
			return Verdict{Failed: true, Reason: "Failed", Message: r.messageOf(ctx, obj, "it has failed", byConventions), Values: v.Values}
		} else if v.Err != nil {
			return v
		}
	}
	if r.isReady == nil {
		return byConventions()
	}
	v := r.isReady.evaluate(ctx, obj, now)
	switch {
	case v.Met && r.rule.Shipped() && r.failure(obj) != nil:
		one := r.failure(obj)
		return Verdict{Reason: "Unhealthy", Message: "the rule for its kind is met, but " + one.String(), Values: append(v.Values, readiness.Value{Expr: one.Path, Value: one.Value})}
	case v.Met:
		return Verdict{Met: true, Reason: "Ready", Message: "the rule for its kind is met: " + text.OneLine(r.rule.Ready.Text), Values: v.Values}
	case v.Err != nil:
		return v
	}
	if r.fail == nil {
		if v := byConventions(); v.Failed {
			v.Message = r.messageOf(ctx, obj, v.Message, byConventions)
			return v
		}
	}
	return Verdict{Reason: "InProgress", Message: r.messageOf(ctx, obj, "the rule for its kind is not met yet: "+text.OneLine(r.rule.Ready.Text), byConventions), Values: v.Values}
}

// failure returns a condition that clearly reports a failure and that the rule does not mention;
// nil if there is none.
func (r *declared) failure(obj map[string]any) *readiness.Statement {
	for _, one := range readiness.Read(obj) {
		if one.Condition && one.Within == "" && one.Value == "True" && one.Complains() && !one.IsPositive() && !r.rule.Names(one.Name) {
			return &one
		}
	}
	return nil
}

// messageOf returns the rule's message, or else the message of the conventions, or else the given
// sentence.
func (r *declared) messageOf(ctx context.Context, obj map[string]any, sentence string, byConventions func() Verdict) string {
	if r.message != nil && !r.secret {
		if message := r.message.Say(ctx, obj); message != "" {
			return message
		}
	}
	if v := byConventions(); !v.Met && v.Reason != "NoStatus" {
		return cmp.Or(v.Message, sentence)
	}
	return sentence
}

// ParseRules calls [Read] and compiles the formulas. The error joins all errors, each with its file
// and line.
func ParseRules(source string, data []byte) (*Set, error) {
	read, err := Read(source, data)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, gk := range read.Kinds() {
		rule, _ := read.Of(gk)
		_, err := compileRule(schema.GroupVersionKind{Group: rule.Group, Kind: rule.Kind}, rule)
		faults = append(faults, err)
	}
	return read, errors.Join(faults...)
}

// Verdict is the result of a condition on one version of an object.
type Verdict struct {
	Met bool
	// Failed is set if the condition will not be met until someone changes something.
	Failed bool
	// Reason is one stable word: InProgress, StaleStatus, JobFailed, Absent.
	Reason string
	// Message is one sentence, which may quote text from the cluster.
	Message string
	// Values are in the order of the condition. Values of Secrets are masked.
	Values []readiness.Value
	// Err says why the condition could not be evaluated. It is nil if the condition is met or has
	// failed.
	Err error
	// Recheck is the time after which the verdict may change even if the object does not; zero
	// means never.
	Recheck time.Duration
}

func notEvaluated(err error) Verdict {
	return Verdict{Reason: "NotJudged", Message: text.OneLine(err.Error()), Err: err}
}
