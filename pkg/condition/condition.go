package condition

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Condition is a Spec compiled for one kind. It is safe for concurrent use.
type Condition struct {
	spec Spec
}

// Compile types and compiles the specs for one kind. s is the OpenAPI v3 schema
// of the kind with its references resolved; nil leaves everything dynamic. The
// error joins a *CompileError for each spec that does not compile.
func Compile(gvk schema.GroupVersionKind, s *spec.Schema, specs []Spec) ([]*Condition, error) {
	out := make([]*Condition, len(specs))
	for i := range specs {
		out[i] = &Condition{spec: specs[i]}
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

// JudgeAt is Judge at a known time, so that what has lasted too long is Failed
// (a pod that nobody could schedule, a crash loop).
func (c *Condition) JudgeAt(ctx context.Context, obj map[string]any, now time.Time) Verdict {
	return Verdict{}
}

// Trim returns a copy of the object that holds no more than the conditions read,
// and what names its version: they judge it like the object itself. What it holds
// is shared with obj.
func Trim(obj map[string]any, conds ...*Condition) map[string]any {
	return obj
}
