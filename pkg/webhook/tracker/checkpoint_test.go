package tracker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Any number of gaps can be declared in any order. A declared gap stays declared, and merging two
// gaps declares in addition only the time between them.
func TestDeclaredGapsStayDeclared(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var c Coverage
		var all []Span
		for range random.IntN(100) {
			from := noon.Add(time.Duration(random.IntN(1e6)) * time.Millisecond * 100)
			s := Span{from, from.Add(time.Duration(random.ExpFloat64() * float64(time.Minute)))}
			all = append(all, s)
			c.Add(Gap{Span: s})
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
				t.Fatalf("%v is declared, but no gap begins at its start or ends at its end", g)
			}
		}
	}
}

// If a clock is set back by an hour, or forward and back again, no gap ends before it begins. The
// gap covers the time by either setting of the clock.
func TestGapsWithClockSetBack(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	for name, tt := range map[string]struct {
		gap  Span
		want []time.Time
	}{
		"correct clock":          {Span{at(0), at(5)}, []time.Time{at(0), at(3), at(5)}},
		"set back in between":    {Span{at(60), at(5)}, []time.Time{at(60), at(5), at(0), at(-20)}},
		"set forward in between": {Span{at(0), at(65)}, []time.Time{at(0), at(5), at(65)}},
		"set back by a second":   {Span{at(5).Add(time.Second), at(5)}, []time.Time{at(5)}},
	} {
		t.Run(name, func(t *testing.T) {
			var c Coverage
			c.Add(Gap{Span: Span{at(-1000), at(-990)}})
			c.Add(Gap{Span: tt.gap})
			c.Add(Gap{Span: Span{at(1000), at(1010)}})
			if len(c.Gaps) != 3 {
				t.Fatalf("declared: %v", c.Gaps)
			}
			got := c.Gaps[1]
			for _, is := range tt.want {
				if is.Before(got.From) || is.After(got.To) {
					t.Errorf("%v is not in %v", is, got)
				}
			}
			if got.To.Sub(got.From) > 2*time.Hour {
				t.Errorf("the declared gap is too long: %v", got)
			}
		})
	}
}

// In a quiet cluster, the checkpoint still shows that the webhook hears from the API server.
func TestCheckpointInQuietCluster(t *testing.T) {
	s := begin(position{})
	s.list(9, fields("a", 5, "argo"))
	s.lead(true, s.now)
	s.dealt(firstOf(s.openGaps()))
	for n := range 60 {
		s.now = s.now.Add(time.Minute)
		s.bookmark(s.w, fmt.Sprint(10+n), s.now)
	}
	c := s.store(maxNotes, s.now).checkpoint
	if at := c.Resources["configmaps"]; at != (position{"69", noon}) || !c.Heard.Equal(s.now) {
		t.Errorf("got heard %s and position %+v, want the current time and version 69", c.Heard, at)
	}
	s.asked(s.w, "69", s.now) // A watch begins anew.
	s.bookmark(s.w, "70", s.now.Add(time.Minute))
	if at := s.store(maxNotes, s.now).checkpoint.Resources["configmaps"]; at != (position{"70", s.now}) {
		t.Errorf("after a new watch: got position %+v, want version 70 and the current time", at)
	}
}

// A backlog is reported once it has waited longer than usual. It is no longer reported after it is
// recorded or given up.
func TestBacklog(t *testing.T) {
	s := begin(position{})
	s.list(9, fields("a", 5, "argo"), fields("b", 6, "argo"))
	s.lead(true, s.now)
	s.dealt(firstOf(s.openGaps()))
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
