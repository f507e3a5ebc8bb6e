package tracker

import "time"

// A list is one of two: of what was there at the checkpoint, from where changes
// follow one by one; or of what is there now, where what lies between is a gap.

// resume begins, with nothing remembered, the list of what was there at a position.
func (s *state) resume(w *watched) {
	w.memory = memory{}
	w.list()
}

// resumed ends that list.
func (s *state) resumed(w *watched) {
	w.forgetUnlisted()
	w.seen, w.fresh = w.promised, 0
}

// afresh begins a list of what is there now. What is remembered is compared.
func (s *state) afresh(w *watched, now time.Time) {
	w.list()
	w.began = now
}

// listed ends it, at a version. If it shows only objects and versions that are remembered,
// nothing happened in between; what has happened to a new object since it was created is
// unknown. Nothing is missing either where no watch came before and no object is there. The
// records may know more than is remembered, if that is as old as a checkpoint: they are
// compared.
func (s *state) listed(w *watched, version string, now time.Time) {
	w.forgetUnlisted()
	from := w.at()
	before := from.Version != ""
	if w.missed || w.fresh > 0 && before || w.seen.Version == "" && (before || len(w.objects) > 0) {
		m := &pendingChange{watched: w, version: version, gap: &gap{blind: true, why: noHistory}, unsettled: 1}
		if before {
			m.gap.Span = Span{from.Time, now}
		}
		w.add(m)
		s.gaps = append(s.gaps, m)
	}
	s.heard = now
	w.seen, w.missed, w.fresh = position{version, w.began}, false, 0
}
