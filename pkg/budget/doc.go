// Package budget forecasts, while a run continues, whether its time will be enough: from
// the run's own pace, and as early as the pace allows.
//
//	f := budget.New(end)
//	if short, ok := f.Take(time.Now(), e); ok { … } // for each event of the run
//
// It stops nothing: the time itself ends the run, between two writes.
package budget
