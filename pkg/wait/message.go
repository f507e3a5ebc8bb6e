package wait

import (
	"context"
	"sync"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// message is what a view's goroutine has to tell.
type message struct {
	view *view
	// change is what its watch tells; nil for the other messages.
	change object.Change
	// kind is served now, and compiled are its goals.
	kind     object.Kind
	compiled map[*Goal]*conditions
	// gone: the kind is not served, for the reason in err.
	gone bool
	// item is one of the view's, and why says why it may not be there.
	item *item
	why  string
	// explained is what came of asking why objects hang.
	explained *explained
	// late items were out of time, and causes say what holds each.
	late   []*item
	causes [][]event.Cause
	// err is the end of the view.
	err error
}

// explained is what came of asking about a batch.
type explained struct {
	items []*item
	// asked is when: the answer knows nothing of what moved later.
	asked time.Time
	Explanations
}

// group is goroutines that send messages until their context is done.
type group struct {
	sync.WaitGroup
	tell func(message)
}

func newGroup(ctx context.Context, to chan<- message) *group {
	return &group{tell: func(m message) {
		select {
		case to <- m:
		case <-ctx.Done():
		}
	}}
}

func (g *group) start(watch func(tell func(message))) { g.Go(func() { watch(g.tell) }) }
