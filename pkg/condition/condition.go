package condition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Condition is a Spec compiled for one kind. It is safe for concurrent use.
type Condition struct {
	spec  Spec
	judge judge
}

// judge is one way to judge an object.
type judge interface {
	judge(ctx context.Context, obj map[string]any, now time.Time) Verdict
	// readTree returns what is read of an object besides its name and version.
	readTree() tree
}

// Compile types and compiles the specs for one kind. s is the OpenAPI v3 schema
// of the kind with its references resolved; nil leaves everything dynamic. The
// error joins a *[CompileError] for each spec that does not compile.
func Compile(gvk schema.GroupVersionKind, s *spec.Schema, specs []Spec) ([]*Condition, error) {
	out := make([]*Condition, 0, len(specs))
	var problems []error
	var cel *language
	for _, sp := range specs {
		var (
			j   judge
			err error
		)
		switch sp.Kind {
		case CEL:
			if cel == nil {
				cel = newLanguage(gvk, s)
			}
			j, err = cel.compile(sp)
		case JSONPath:
			j, err = compileJSONPath(gvk, s, sp)
		case Status:
			j = statusCondition{kind: sp.Type, status: sp.Value}
		case Ready:
			j = newReadiness(gvk, s)
		case Create:
			j = exists{}
		case Delete:
			j = gone{}
		default:
			err = &CompileError{Spec: sp, Message: fmt.Sprintf("there is no condition %q", sp.Kind), Meant: forms}
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		out = append(out, &Condition{spec: sp, judge: j})
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return out, nil
}

// Spec returns what was compiled.
func (c *Condition) Spec() Spec { return c.spec }

// Judge judges one version of one object; nil means that it does not exist. What
// is only a matter of time never fails: see [Condition.JudgeAt].
func (c *Condition) Judge(ctx context.Context, obj map[string]any) Verdict {
	return c.JudgeAt(ctx, obj, time.Time{})
}

// JudgeAt is Judge at a known time, so that what has lasted too long is Failed: a
// pod that nobody could schedule, a crash loop. The times in an object are its
// cluster's; a clock that is minutes off tells wrong.
func (c *Condition) JudgeAt(ctx context.Context, obj map[string]any, now time.Time) Verdict {
	return c.judge.judge(ctx, obj, now)
}

// Trim returns a copy of the object that holds no more than the conditions read,
// and what names the object and its version: they judge it like the object
// itself. What it holds is shared with obj, so that the rest of obj is free to go.
func Trim(obj map[string]any, conds ...*Condition) map[string]any {
	if obj == nil {
		return nil
	}
	reads := identity()
	for _, c := range conds {
		reads = union(reads, c.judge.readTree())
	}
	out, _ := reads.cut(obj).(map[string]any)
	return out
}

// identity is what names an object and its version.
func identity() tree {
	return tree{"apiVersion": nil, "kind": nil, "metadata": tree{
		"name": nil, "namespace": nil, "uid": nil, "resourceVersion": nil,
		"generation": nil, "creationTimestamp": nil, "deletionTimestamp": nil,
	}}
}
