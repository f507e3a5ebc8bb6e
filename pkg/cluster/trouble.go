package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// trouble is a way of failing: this kind, with this code of the server's.
type trouble struct {
	kind schema.GroupVersionKind
	code int32
}

// troubles is the time that a run may spend on trying again without anything
// getting better. A thousand objects behind one dead webhook so cost the time of
// one, and a server that is busy now and then costs nothing.
type troubles struct {
	limit time.Duration

	mu sync.Mutex
	// began and latest failure, for each trouble that has not passed.
	open map[trouble]span
}

type span struct{ began, latest time.Time }

func newTroubles(limit time.Duration) *troubles {
	return &troubles{limit: limit, open: map[trouble]span{}}
}

// left returns how much longer trying again is worth it. A trouble that was not
// heard of for that long has passed.
func (t *troubles) left(what trouble) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	s, known := t.open[what]
	if !known || now.Sub(s.latest) > t.limit {
		s.began = now
	}
	s.latest = now
	t.open[what] = s
	return t.limit - now.Sub(s.began)
}

// over notes that trying again helped.
func (t *troubles) over(what trouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, what)
}
