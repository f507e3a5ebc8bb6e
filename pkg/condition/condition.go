package condition

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

// Condition is a Spec compiled for one kind. It is safe for concurrent use.
type Condition struct {
	spec  Spec
	judge judge
}

// judge is what a kind of condition knows to do.
type judge interface {
	// judge judges an object that exists.
	judge(ctx context.Context, obj map[string]any, now time.Time) Verdict
	// reads returns what it reads of an object.
	reads() reads
}

// Compile types and compiles the specs for one kind. s is the OpenAPI v3 schema
// of the kind with its references resolved; nil leaves everything dynamic. The
// error joins a *CompileError for each spec that does not compile, and a *RuleError for
// each formula of the rule that is stated of the kind.
func Compile(gvk schema.GroupVersionKind, s *spec.Schema, specs []Spec) ([]*Condition, error) {
	var (
		out  = make([]*Condition, len(specs))
		errs []error
		cel  = language{gvk: gvk, root: s}
	)
	for i, one := range specs {
		out[i] = &Condition{spec: one}
		var err error
		switch one.Kind {
		case Ready:
			out[i].judge, err = newReady(gvk, s, one)
		case CEL:
			out[i].judge, err = cel.compile(one)
		case Status:
			out[i].judge, err = newStatus(gvk, s, one)
		case JSONPath:
			out[i].judge, err = newPath(gvk, s, one)
		case Create, Delete:
			out[i].judge = existence{}
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// NeedsSchema reports whether Compile can make use of the schema of a kind: where
// not, it need not be read. What is ready is known by heart for many kinds.
func (s Spec) NeedsSchema(gvk schema.GroupVersionKind) bool {
	switch s.Kind {
	case CEL, JSONPath:
		return true
	case Ready:
		return readiness.NeedsSchema(gvk)
	default:
		return false
	}
}

// Spec returns what was compiled.
func (c *Condition) Spec() Spec { return c.spec }

// Judge judges one version of one object; nil means that it does not exist. What
// is only a matter of time never fails: see [Condition.JudgeAt].
func (c *Condition) Judge(ctx context.Context, obj map[string]any) Verdict {
	return c.JudgeAt(ctx, obj, time.Time{})
}

// JudgeAt is Judge at a known time, so that what has lasted too long is Failed
// (a pod that nobody could schedule, a crash loop).
func (c *Condition) JudgeAt(ctx context.Context, obj map[string]any, now time.Time) Verdict {
	switch {
	case c.spec.Kind == Delete && obj != nil:
		return Verdict{Reason: "Present", Message: present(obj)}
	case c.spec.Kind == Delete:
		return Verdict{Met: true, Reason: "Deleted", Message: "it does not exist"}
	case obj == nil:
		return Verdict{Reason: "NotFound", Message: "it does not exist"}
	default:
		return c.judge.judge(ctx, obj, now)
	}
}

func present(obj map[string]any) string {
	if meta, _ := obj["metadata"].(map[string]any); meta["deletionTimestamp"] != nil {
		return "it is being deleted"
	}
	return "it exists"
}

// existence judges create.
type existence struct{}

func (existence) judge(context.Context, map[string]any, time.Time) Verdict {
	return Verdict{Met: true, Reason: "Created", Message: "it exists"}
}

func (existence) reads() reads { return reads{} }
