package tracker

// lost returns the gaps that the leader has to deal with now, and whether the sink
// has to compare what it wrote.
func (s *state) lost() (gaps []*pendingChange, blind bool) {
	if !s.leading {
		return nil, false
	}
	for _, m := range s.gaps {
		if m.settled {
			continue
		}
		gaps = append(gaps, m)
		blind = blind || m.gap.blind
	}
	s.gaps = nil
	return gaps, blind
}

// dealt is told that gaps were dealt with: they are declared with the next
// checkpoint, which may leave them behind.
func (s *state) dealt(gaps []*pendingChange) {
	for _, m := range gaps {
		m.settled = true
		if m.gap.Span != (Span{}) {
			s.undeclared.Add(m.gap.Span)
		}
	}
}

// requeue is told that gaps have to be dealt with again.
func (s *state) requeue(gaps []*pendingChange) {
	s.gaps = append(gaps, s.gaps...)
}
