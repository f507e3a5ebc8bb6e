package cluster

import (
	"slices"
	"time"
)

// sign is what the end of a request tells of the server's load.
type sign int

const (
	// nothing: the request was about something else, or moved much data.
	nothing sign = iota
	// answered in time.
	answered
	// tooMuch: the server said so.
	tooMuch
)

// width is how many requests to have under way at once. It starts modest and
// doubles from round to round, a round being as many answers as the width, for as
// long as an answer takes hardly longer for it: then more requests at once mean
// more of them a second. Where it takes much longer, requests only queue at the
// server, and the width stays. It halves when the server says that it is too
// much, and then grows slowly, as TCP does.
//
// It is a pure function of what it observes.
type width struct {
	most  int
	limit float64
	// steady is from where on growth is slow.
	steady float64

	round []time.Duration
	// wanted: in this round there was more to send than the width let through.
	wanted bool
	// spared counts the requests that were sent before the latest halving: what
	// they tell is known.
	spared int
	// base are the medians of the latest rounds; their least is how long an answer
	// takes when nobody waits.
	base []time.Duration
}

const (
	// startWidth lets the few writes of a small change go out in one round trip. It
	// is a guess that hurts no server; TCP begins with about as much (RFC 6928).
	startWidth = 12
	// crowded is how many times longer than at best an answer takes where more at
	// once would not be more a second; drowning is where it is clearly too much.
	// Both leave room for what others do to the server: too narrow costs far more,
	// by the way to it, than too wide.
	crowded, drowning = 2.5, 6
	// recent is how many rounds count for what is best. What takes long by itself,
	// such as a kind with a slow webhook, is then its own measure.
	recent = 10
)

func newWidth(most int) width {
	return width{most: most, limit: float64(min(startWidth, most)), steady: float64(most)}
}

func (w *width) now() int { return max(1, int(w.limit)) }

// observe takes note of the end of a request. waiting tells that others wait for
// their turn.
func (w *width) observe(what sign, took time.Duration, waiting bool) {
	w.wanted = w.wanted || waiting
	switch what {
	case tooMuch:
		if w.spared > 0 {
			w.spared--
			return
		}
		w.spared = w.now() - 1
		w.limit = max(1, w.limit/2)
		w.steady = w.limit
		w.round, w.wanted = w.round[:0], false
	case answered:
		w.spared = max(0, w.spared-1)
		w.round = append(w.round, took)
		if len(w.round) >= w.now() {
			w.adjust()
		}
	case nothing:
	}
}

// adjust ends a round.
func (w *width) adjust() {
	slices.Sort(w.round)
	median := w.round[len(w.round)/2]
	w.base = append(w.base, median)
	if len(w.base) > recent {
		w.base = w.base[1:]
	}
	took := float64(median) / float64(slices.Min(w.base))
	switch {
	case took > drowning:
		w.limit = max(min(startWidth, w.limit), w.limit*0.75)
		w.steady = w.limit
	case took > crowded, !w.wanted:
	case w.limit < w.steady:
		w.limit = min(2*w.limit, float64(w.most))
	default:
		w.limit = min(w.limit+max(1, w.limit/8), float64(w.most))
	}
	w.round, w.wanted = w.round[:0], false
}
