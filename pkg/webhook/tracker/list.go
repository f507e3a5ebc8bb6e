package tracker

import "time"

// There are two kinds of list: one of what was there at the checkpoint, from which
// changes follow one by one, and one of what is there now, where everything in between is
// a gap.

// resume begins the list of what was there at a position, with nothing remembered.
func (s *state) resume(w *watched) {
	w.memory = memory{}
	w.list()
}

// resumed ends that list.
func (s *state) resumed(w *watched) {
	w.forgetUnlisted()
	w.seen, w.fresh = w.promised, 0
}

// afresh begins a list of what is there now. Remembered objects are compared.
func (s *state) afresh(w *watched, now time.Time) {
	w.list()
	w.began = now
}

// listed ends it, at a version. If it shows only objects and versions that are
// remembered, nothing happened in between; what has happened to a new object since it was
// created is unknown. Nothing is missing either if no watch came before and there are no
// objects. If the memory is as old as a checkpoint, the records may know more, so they
// are compared.
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
