// Package stall decides when it is asked why an object hangs, and what of the answer is
// news.
//
//	schedule := stall.New[string](stall.Limits{After: 15 * time.Second})
//	schedule.Moved("web", now, false)
//	…
//	for _, name := range schedule.Due(now) {
//		causes := explain(name)
//		schedule.Asked(now, map[string]int{"web": requests}, 0)
//		if told.News(causes, nil) { … }
//	}
//
// An object hangs when nothing has moved in it for a while. Then it is asked why, and
// again at intervals that the requests pay for: each object has a purse that fills at so
// many requests a minute, and all of them together have one. The time is a parameter, so
// that the same calls give the same answers.
//
// The package asks nothing itself, knows no causes and starts no goroutine.
package stall
