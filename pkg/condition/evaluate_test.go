package condition

import (
	"context"
	"time"
)

// Evaluate evaluates the condition at no particular time.
func (c *Condition) Evaluate(ctx context.Context, obj map[string]any) Verdict {
	return c.EvaluateAt(ctx, obj, time.Time{})
}
