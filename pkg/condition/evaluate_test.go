package condition

import (
	"context"
	"time"
)

// Evaluate evaluates the condition without a time.
func (c *Condition) Evaluate(ctx context.Context, obj map[string]any) Verdict {
	return c.EvaluateAt(ctx, obj, time.Time{})
}
