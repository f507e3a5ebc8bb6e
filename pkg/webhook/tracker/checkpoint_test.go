package tracker

import (
	"math/rand/v2"
	"testing"
	"time"
)

// However many gaps are declared, in whatever order: what was declared once stays
// declared, and nothing is that is not between two that were.
func TestGapsStay(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var c Coverage
		var all []Span
		for range random.IntN(100) {
			from := noon.Add(time.Duration(random.IntN(1e6)) * time.Millisecond * 100)
			s := Span{from, from.Add(time.Duration(random.ExpFloat64() * float64(time.Minute)))}
			all = append(all, s)
			c.Add(s)
		}
		if len(c.Gaps) > maxGaps {
			t.Fatalf("%d gaps", len(c.Gaps))
		}
		for _, s := range all {
			held := 0
			for _, g := range c.Gaps {
				if !s.From.Before(g.From) && !s.To.After(g.To) {
					held++
				}
			}
			if held != 1 {
				t.Fatalf("%v is in %d of %v", s, held, c.Gaps)
			}
		}
		for _, g := range c.Gaps {
			begins, ends := false, false
			for _, s := range all {
				begins = begins || s.From.Truncate(time.Second).Equal(g.From)
				ends = ends || !s.To.After(g.To) && g.To.Sub(s.To) < time.Second
			}
			if !begins || !ends {
				t.Fatalf("%v is declared, and no gap begins and ends there", g)
			}
		}
	}
}

// What waits to be recorded is said when it has waited for longer than usual, and not
// any more once it is recorded or given up.
func TestBacklog(t *testing.T) {
	s := begin(position{})
	s.list(9, fields("a", 5, "argo"), fields("b", 6, "argo"))
	s.lead(true, s.now)
	s.dealt(firstOf(s.lost()))
	began := s.now
	s.change("a", 10, "flux")
	s.wait(grace)
	s.change("b", 11, "flux")
	if got := s.backlog(s.now); got != nil {
		t.Errorf("at once: %+v", got)
	}
	s.wait(time.Minute)
	if got := s.backlog(s.now); got == nil || *got != (Backlog{2, began}) {
		t.Errorf("a minute later: %+v", got)
	}
	s.settleAll()
	if got := s.backlog(s.now); got != nil {
		t.Errorf("recorded: %+v", got)
	}
}
