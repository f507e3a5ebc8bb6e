package lock

import "time"

// Step is what to do next.
type Step int

// The steps.
const (
	// Rest for Move.In.
	Rest Step = iota
	// Read the Lease.
	Read
	// Create the Lease as Move.Record says.
	Create
	// Replace the Lease, at the version that Move.Record has.
	Replace
	// End: there is nothing left to do.
	End
)

// Move is a step with what it needs.
type Move struct {
	Step   Step
	In     time.Duration
	Record Record
}

// Outcome is the result of a move.
type Outcome int

// The outcomes.
const (
	// Silent: the move may or may not have arrived.
	Silent Outcome = iota
	// Done: it was read, created or replaced, and is as the record says.
	Done
	// Absent: there is no Lease.
	Absent
	// Changed: the Lease is not at that version any more, or exists already.
	Changed
)

// state of a Machine.
type state int

const (
	seeking state = iota
	holding
	releasing
	over
)

// Machine decides what one process does about the lock. It receives the time and the
// results of its moves, does nothing itself, and makes one move at a time.
type Machine struct {
	me    Identity
	terms Terms

	state state
	// seen is the Lease as it was last read or written; nil if there is none. stale: it
	// may have changed since.
	seen  *Record
	stale bool
	// since is when the Lease was first seen at that version, by the monotonic clock: a
	// stopped clock makes us wait longer, which does no harm.
	since time.Duration
	// moved is the latest move, sent when it was made.
	moved Step
	sent  Moment
	// doubt is the time of the first move that may have made us the holder without our
	// knowing; nil if there is none.
	doubt *Moment
	// granted is the time of the latest move that renewed the Lease. The move arrived
	// then or later, so for a run that watches the Lease, its time began then or later.
	granted Moment
	// retry is when to renew, at the earliest. failing is since when that fails, by the
	// monotonic clock; nil as long as it works.
	retry   time.Duration
	failing *time.Duration

	acquired    time.Time
	transitions int
	lost        error
	// again: giving the lock back was tried before. freed: it worked.
	again, freed bool
}

// NewMachine returns the machine of a process that wants the lock.
func NewMachine(me Identity, terms Terms) *Machine {
	return &Machine{me: me, terms: terms, stale: true}
}

// Next returns what to do. The outcome of any move but a rest has to be passed to Heard
// before the next call.
func (m *Machine) Next(now Moment) Move {
	move := m.next(now)
	m.moved = move.Step
	if move.Step == Create || move.Step == Replace {
		m.sent = now
	}
	return move
}

func (m *Machine) next(now Moment) Move {
	switch m.state {
	case seeking:
		return m.seek(now)
	case holding:
		return m.hold(now)
	case releasing:
		if m.stale {
			return Move{Step: Read}
		}
		free := *m.seen
		free.Holder, free.Run, free.Renewed = "", m.me.Run, now.Wall
		return Move{Step: Replace, Record: free}
	default:
		return Move{Step: End}
	}
}

func (m *Machine) seek(now Moment) Move {
	switch {
	case m.stale:
		return Move{Step: Read}
	case m.seen == nil:
		m.acquired, m.transitions = now.Wall, 0
		return Move{Step: Create, Record: m.mine(now, "")}
	case m.seen.Holder == "" || m.rested(now) >= m.validity():
		m.acquired, m.transitions = now.Wall, m.seen.Transitions+1
		return Move{Step: Replace, Record: m.mine(now, m.seen.Version)}
	default:
		m.stale = true
		return Move{Step: Rest, In: max(0, min(m.terms.Poll, m.validity()-m.rested(now)))}
	}
}

func (m *Machine) hold(now Moment) Move {
	due := max(m.granted.Mono+m.terms.Renew, m.retry)
	passed, known := now.since(m.granted)
	switch {
	case m.failing != nil && now.Mono-*m.failing >= m.terms.Patience:
		m.lose(&LostError{Reason: NotRenewed, For: passed})
		return Move{Step: End}
	case now.Mono < m.retry:
		return Move{Step: Rest, In: m.retry - now.Mono}
	case m.stale:
		return Move{Step: Read}
	case now.Mono < due && known && passed < m.terms.Renew:
		return Move{Step: Rest, In: due - now.Mono}
	default:
		return Move{Step: Replace, Record: m.mine(now, m.seen.Version)}
	}
}

// mine is the Lease as we would have it.
func (m *Machine) mine(now Moment, version string) Record {
	return Record{
		Holder: m.me.Holder, Run: m.me.Run, Acquired: m.acquired, Renewed: now.Wall,
		Duration: m.terms.Duration, Transitions: m.transitions, Version: version,
	}
}

// rested returns for how long the Lease is known to be unchanged. It was read after that:
// [Machine.Next] never decides by a stale one.
func (m *Machine) rested(now Moment) time.Duration { return now.Mono - m.since }

// validity is how long the Lease of another run is valid: never less than ours would be. One
// that says less was edited by hand, and the run that holds it does not know.
func (m *Machine) validity() time.Duration { return max(m.seen.Duration, m.terms.Duration) }

// Heard receives the result of the latest move: what, and with Done the Lease as it is.
func (m *Machine) Heard(now Moment, what Outcome, lease Record) {
	switch m.state {
	case seeking:
		m.heardSeeking(now, what, lease)
	case holding:
		m.heardHolding(now, what, lease)
	case releasing:
		m.heardReleasing(what, lease)
	case over:
	}
}

// heardReleasing: the latest renewal may have arrived without our knowing, and the Lease
// may have another version.
func (m *Machine) heardReleasing(what Outcome, lease Record) {
	switch {
	case m.moved == Replace && what == Done:
		m.state, m.freed = over, true
	case m.moved == Replace && what != Absent && !m.again:
		m.stale, m.again = true, true
	case m.moved == Read && what == Done && lease.Holder == m.me.Holder:
		m.seen, m.stale = &lease, false
	case m.moved == Read && what == Done:
		m.state, m.freed = over, true // It worked the first time.
	default:
		m.state = over // Whatever is there runs out.
	}
}

func (m *Machine) heardSeeking(now Moment, what Outcome, lease Record) {
	wrote := m.moved != Read
	switch {
	case what == Silent, what == Changed:
		// A client that sends a write again hears of the second time that the Lease has
		// changed: by the first.
		m.stale = true
		if wrote && m.doubt == nil {
			sent := m.sent
			m.doubt = &sent
		}
	case what == Absent:
		m.seen, m.stale = nil, wrote
	case wrote:
		m.become(lease, m.sent)
	case lease.Holder == m.me.Holder && m.doubt != nil:
		// A write without an answer has arrived. It may be the first of them.
		m.become(lease, *m.doubt)
	default:
		if m.seen == nil || m.seen.Version != lease.Version {
			m.since = now.Mono
		}
		m.seen, m.stale = &lease, false
	}
}

func (m *Machine) become(lease Record, granted Moment) {
	m.state, m.seen, m.stale, m.granted, m.retry = holding, &lease, false, granted, 0
}

func (m *Machine) heardHolding(now Moment, what Outcome, lease Record) {
	switch {
	case what == Silent:
		m.retry = now.Mono + m.terms.Again
		if m.failing == nil {
			since := now.Mono
			m.failing = &since
		}
	case what == Absent:
		m.lose(&LostError{Reason: Deleted})
	case what == Changed:
		m.stale = true // By another run, or by a renewal of ours whose answer was lost.
	case lease.Holder != m.me.Holder:
		m.lose(&LostError{Reason: Taken, By: lease})
	case m.moved == Read:
		m.seen, m.stale = &lease, false
		m.retry = 0
	default:
		m.seen, m.granted, m.retry, m.failing = &lease, m.sent, 0, nil
	}
}

func (m *Machine) lose(err error) { m.state, m.lost = over, err }

// Release gives the lock back: the next move does it. If settled is false, a write of
// ours may still arrive at the server, and the Lease is left to run out.
func (m *Machine) Release(settled bool) {
	switch {
	case m.state == holding && settled:
		m.state = releasing
	case m.state == seeking || m.state == holding:
		m.state = over
	}
}

// Left returns how long the server may take for a write that begins now. ok is false if
// no write may begin: the lock is not held, or not for long enough.
func (m *Machine) Left(now Moment) (within time.Duration, ok bool) {
	if m.state != holding {
		return 0, false
	}
	passed, known := now.since(m.granted)
	left := m.terms.Duration - passed
	return left - m.terms.Slack, known && left >= m.terms.Margin
}

// Holds reports whether the lock was got and not lost or given back since. That does not
// mean that a write may begin.
func (m *Machine) Holds() bool { return m.state == holding }

// Freed reports whether the lock was given back, so that others can have it at once.
func (m *Machine) Freed() bool { return m.freed }

// Lost returns why the lock was lost, nil if it was not.
func (m *Machine) Lost() error { return m.lost }

// Seen returns the Lease as it was last read, and for how long it is known to be
// unchanged; nil if there is none.
func (m *Machine) Seen(now Moment) (lease *Record, unchanged time.Duration) {
	if m.seen == nil {
		return nil, 0
	}
	seen := *m.seen
	return &seen, m.rested(now)
}
