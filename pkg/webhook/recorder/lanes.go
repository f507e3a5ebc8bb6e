package recorder

import (
	"container/heap"
	"time"
)

// lanes hold the pending transitions, namespace by namespace, and serve them in turn: a
// flood in one delays nothing in another (edge case 100).
type lanes struct {
	of   map[string]*lane
	turn int
}

func newLanes() lanes { return lanes{of: map[string]*lane{}} }

// lane returns the lane of a namespace.
func (l *lanes) lane(namespace string) *lane {
	found := l.of[namespace]
	if found == nil {
		l.turn++
		found = &lane{namespace: namespace, served: l.turn} // behind those already waiting
		l.of[namespace] = found
	}
	return found
}

// place puts an object into the queue of its lane, or moves it there.
func (l *lanes) place(p *pending, at time.Time) {
	p.at = at
	if p.lane != nil {
		heap.Fix(&p.lane.line, p.index)
		return
	}
	p.lane = l.lane(p.object.Namespace)
	heap.Push(&p.lane.line, p)
}

// remove takes an object out of its queue.
func (l *lanes) remove(p *pending) {
	if p.lane == nil {
		return
	}
	heap.Remove(&p.lane.line, p.index)
	from := p.lane
	p.lane = nil
	l.tidy(from)
}

// count records a change in the number of pending transitions of a namespace.
func (l *lanes) count(namespace string, more int) {
	if more == 0 {
		return
	}
	in := l.lane(namespace)
	in.transitions += more
	l.tidy(in)
}

// tidy removes an empty lane.
func (l *lanes) tidy(in *lane) {
	if in.transitions == 0 && len(in.line) == 0 {
		delete(l.of, in.namespace)
	}
}

// first returns when the first object of all lanes is due, if any is to be written.
func (l *lanes) first() (at time.Time, ok bool) {
	for _, in := range l.of {
		if len(in.line) > 0 && (!ok || in.line[0].at.Before(at)) {
			at, ok = in.line[0].at, true
		}
	}
	return at, ok
}

// next returns the object whose turn it is among those that are due.
func (l *lanes) next(now time.Time) *pending {
	var found *lane
	for _, in := range l.of {
		if len(in.line) == 0 || in.line[0].at.After(now) {
			continue
		}
		if found == nil || in.served < found.served {
			found = in
		}
	}
	if found == nil {
		return nil
	}
	return found.line[0]
}

// serve records that a lane was served.
func (l *lanes) serve(in *lane) {
	l.turn++
	in.served = l.turn
}

// fullest returns the largest lane, by some measure.
func (l *lanes) fullest(size func(*lane) int) *lane {
	var found *lane
	for _, in := range l.of {
		if found == nil || size(in) > size(found) {
			found = in
		}
	}
	return found
}
