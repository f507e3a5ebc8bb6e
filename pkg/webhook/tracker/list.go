package tracker

import "time"

// There are two kinds of list: the state at the checkpoint, after which changes follow one by one,
// and the present state, before which everything is a gap.

// resume begins the list of the state at a position, with nothing remembered.
func (s *state) resume(w *watched) {
	w.memory = memory{}
	w.list()
}

// resumed ends that list.
func (s *state) resumed(w *watched) {
	w.forgetUnlisted()
	w.seen, w.fresh = w.promised, 0
}

// afresh begins a list of the present state. Remembered objects are compared.
func (s *state) afresh(w *watched, now time.Time) {
	w.list()
	w.began = now
}

// listed ends it, at a version. If it shows only remembered objects and versions, nothing happened
// in between; the history of a new object since its creation is unknown. Nothing is missing either
// if there was no watch before and there are no objects. If the memory is as old as a checkpoint,
// the records may know more, so they are compared.
func (s *state) listed(w *watched, version string, now time.Time) {
	w.forgetUnlisted()
	from := w.at()
	before := from.Version != ""
	if w.missed || w.fresh > 0 && before || w.seen.Version == "" && (before || len(w.objects) > 0) {
		m := &pendingChange{watched: w, version: version, gap: &gap{blind: true, why: noHistory}}
		if before {
			m.gap.Span = Span{from.Time, now}
		}
		s.gaps = append(s.gaps, m)
	}
	s.heard = now
	w.seen, w.missed, w.fresh = position{version, w.began}, false, 0
}
