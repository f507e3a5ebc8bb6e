package cli

import (
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/budget"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// forecasting passes events on, and warns once if the run will not be done by end; a zero
// time means no end.
func forecasting(end time.Time, emit func(event.Event)) func(event.Event) {
	if end.IsZero() {
		return emit
	}
	f := budget.New(end)
	return func(e event.Event) {
		emit(e)
		if short, ok := f.Take(time.Now(), e); ok {
			emit(event.Warned{Text: fmt.Sprintf(
				"at this pace, about %d of %d objects will be applied when the time is over in %s (--timeout); the next run does the rest",
				short.Done, short.Total, short.Left.Round(time.Second))})
		}
	}
}
