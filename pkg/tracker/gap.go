package tracker

// lost returns the gaps that the leader has to deal with now, and whether the sink
// has to compare what it wrote.
func (b *book) lost() (gaps []*matter, blind bool) {
	if !b.leading {
		return nil, false
	}
	for _, m := range b.gaps {
		if m.settled {
			continue
		}
		gaps = append(gaps, m)
		blind = blind || m.gap.blind
	}
	b.gaps = nil
	return gaps, blind
}

// dealt is told that gaps were dealt with: they are declared with the next
// checkpoint, which may leave them behind.
func (b *book) dealt(gaps []*matter) {
	for _, m := range gaps {
		m.settled = true
		if m.gap.Span != (Span{}) {
			b.undeclared.Add(m.gap.Span)
		}
	}
}

// undealt is told that gaps have to be dealt with again.
func (b *book) undealt(gaps []*matter) {
	b.gaps = append(gaps, b.gaps...)
}
