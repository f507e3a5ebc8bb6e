package tracker

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

const (
	// hintLife is longer than the longest request plus an interruption of the watch.
	hintLife = 2 * time.Minute
	// maxHints limits the number of hints; the oldest are dropped.
	maxHints = 20_000
	// maxHintBytes bounds the memory of all hints. A write that fails after admission leaves its
	// hint behind, and managed fields may be megabytes in size.
	maxHintBytes = 64 << 20
)

// hints contains what admission saw of each write, until the write is committed or the hint is too
// old.
//
// A hint matches a change from exactly the version that admission saw to exactly the owners that it
// expected. A hint about a write through /scale has no owners, and matches a change by that
// subresource. The labels and annotations have to be the expected ones, too. The API server first
// tries a write on a cached version. If that is older than the last change, and both writes lead to
// the same owners, the hint would match that change, which another write made. There is no weaker rule,
// because a wrong user is worse than none. If a write was refused after admission, or retried, its hint
// expires (edge case 72).
type hints struct {
	of    map[types.UID][]ownership.Hint
	order []held // in order of arrival, including hints that have been matched since
	count int
	bytes int // size of order
}

type held struct {
	uid     types.UID
	request types.UID
	came    time.Time
	bytes   int
}

func (h *hints) add(hint ownership.Hint, now time.Time) (dropped bool) {
	if h.of == nil {
		h.of = map[types.UID][]ownership.Hint{}
	}
	h.of[hint.UID] = append(h.of[hint.UID], hint)
	size := hint.Size()
	h.order = append(h.order, held{hint.UID, hint.Request, now, size})
	h.count++
	h.bytes += size
	for len(h.order) > maxHints || h.bytes > maxHintBytes {
		dropped = h.oldest() || dropped
	}
	return dropped
}

// match returns the hint for a change. If two users sent the same change at the same time, we
// cannot know which write succeeded. match then returns a hint without a user, and with only those
// verdicts and values on which both hints agree.
func (h *hints) match(uid types.UID, from string, to ownership.Owners, metadata ownership.Metadata, transitions []ownership.Transition) (found ownership.Hint, ok bool) {
	for _, hint := range h.of[uid] {
		if hint.ResourceVersion != from || !hint.Fits(to, transitions) || hint.Metadata.Contradicts(metadata) {
			continue
		}
		if !ok {
			found, ok = hint, true
			continue
		}
		if hint.User != found.User {
			found.User = ""
		}
		if hint.Verdicts != found.Verdicts {
			found.Verdicts = ownership.Verdicts{}
		}
		if !maps.Equal(hint.Values, found.Values) {
			found.Values = nil
		}
	}
	if ok {
		h.keep(uid, func(hint ownership.Hint) bool { return hint.ResourceVersion != from })
	}
	return found, ok
}

// expire drops hints that are too old, and returns how many of them matched no change.
func (h *hints) expire(now time.Time) (expired int) {
	for len(h.order) > 0 && now.Sub(h.order[0].came) >= hintLife {
		if h.oldest() {
			expired++
		}
	}
	return expired
}

// oldest drops the oldest hint, and reports whether it was still waiting for its write.
func (h *hints) oldest() bool {
	oldest, before := h.order[0], h.count
	h.order = h.order[1:]
	h.bytes -= oldest.bytes
	h.keep(oldest.uid, func(hint ownership.Hint) bool { return hint.Request != oldest.request })
	return h.count < before
}

func (h *hints) keep(uid types.UID, keep func(ownership.Hint) bool) {
	had := len(h.of[uid])
	rest := slices.DeleteFunc(h.of[uid], func(hint ownership.Hint) bool { return !keep(hint) })
	h.count -= had - len(rest)
	if len(rest) == 0 {
		delete(h.of, uid)
		return
	}
	h.of[uid] = rest
}
