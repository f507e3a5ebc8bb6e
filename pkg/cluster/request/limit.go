package request

import (
	"slices"
	"time"
)

// signal is what the end of a request says about the server's load.
type signal int

const (
	// nothing: the request was about something else, or moved much data.
	nothing signal = iota
	// answered in time.
	answered
	// tooMuch: the server said so.
	tooMuch
)

// limit is how many requests may be in progress at once. It starts with what a usual set needs and doubles from
// round to round, a round being as many answers as the limit, while answers take hardly
// longer because of it: more parallel requests then mean more of them a second. If they
// take much longer, requests only queue at the server, and the limit stays. It halves
// when the server says that it is overloaded, and then grows slowly, as TCP does.
//
// It is a pure function of what it observes.
type limit struct {
	most int
	size float64
	// steady is from where on growth is slow.
	steady float64

	round []time.Duration
	// wanted: in this round there was more to send than the limit let through.
	wanted bool
	// spared counts the requests that were sent before the latest halving: their results
	// add nothing new.
	spared int
	// base holds the medians of the latest rounds; their minimum is how long an answer
	// takes without a queue.
	base []time.Duration
}

const (
	// startLimit sends what a set of the usual size reads, or the objects of one of its
	// phases, in one round trip: each further round costs a distant server's user that
	// again. It is about what the API server serves at once of what is neither urgent nor
	// known to it (the priority level global-default, with the flags' defaults), and what
	// is too much for a server is queued there or refused, which halves the limit.
	startLimit = 48
	// modest is what a server gets that was just away, and what a slow one gets at least.
	modest = 12
	// crowded is how many times longer than the best an answer may take before more
	// parallel requests would no longer mean more of them a second; drowning is where
	// there are clearly too many. Both leave room for the load of other clients: a limit
	// that is too low costs far more, because of the round-trip time, than one that is
	// too high.
	crowded, drowning = 2.5, 6
	// recent is how many rounds count for the minimum. Requests that are slow by nature,
	// such as those for a kind with a slow webhook, thus become their own measure.
	recent = 10
)

func newLimit(most, start int) limit {
	return limit{most: most, size: float64(min(start, most)), steady: float64(most)}
}

func (l *limit) now() int { return max(1, int(l.size)) }

// observe records the end of a request. waiting reports whether others wait for their
// turn.
func (l *limit) observe(what signal, took time.Duration, waiting bool) {
	l.wanted = l.wanted || waiting
	switch what {
	case tooMuch:
		if l.spared > 0 {
			l.spared--
			return
		}
		l.spared = l.now() - 1
		l.size = max(1, l.size/2)
		l.steady = l.size
		l.round, l.wanted = l.round[:0], false
	case answered:
		l.spared = max(0, l.spared-1)
		l.round = append(l.round, took)
		if len(l.round) >= l.now() {
			l.adjust()
		}
	case nothing:
	}
}

// adjust ends a round.
func (l *limit) adjust() {
	slices.Sort(l.round)
	median := l.round[len(l.round)/2]
	l.base = append(l.base, median)
	if len(l.base) > recent {
		l.base = l.base[1:]
	}
	took := float64(median) / float64(slices.Min(l.base))
	switch {
	case took > drowning:
		l.size = max(min(modest, l.size), l.size*0.75)
		l.steady = l.size
	case took > crowded, !l.wanted:
	case l.size < l.steady:
		l.size = min(2*l.size, float64(l.most))
	default:
		l.size = min(l.size+max(1, l.size/8), float64(l.most))
	}
	l.round, l.wanted = l.round[:0], false
}
