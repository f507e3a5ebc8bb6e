// Package budget says, while a run goes on, whether its time will do: by its own pace, and
// as early as that tells.
//
//	f := budget.New(end)
//	if short, ok := f.Take(time.Now(), e); ok { … } // for each event of the run
//
// It stops nothing: the time itself ends the run, between two writes.
package budget
