package kinds

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listing is the server's own list of the kinds of a group version; empty if it has none.
type listing struct {
	kinds metav1.APIResourceList
	found bool
}

// together lets those who ask for the kinds of one group version at the same time share
// one request: its answer has all of them. Who asks after the answer came asks anew.
type together struct {
	// keeps: who asks after the answer came has it, too. What it is for is one question then,
	// about many kinds, that are not asked about at the same moment.
	keeps bool

	mu    sync.Mutex
	under map[schema.GroupVersion]*asked
}

// asked is a request under way, or one that is kept. The rest is written before done is closed.
type asked struct {
	done chan struct{}
	list listing
	err  error
}

// listed returns what ask answers. Those who share an error ask for themselves: the first
// may have been interrupted.
func (t *together) listed(
	ctx context.Context, gv schema.GroupVersion, ask func(context.Context, schema.GroupVersion) (listing, error),
) (listing, error) {
	t.mu.Lock()
	if a := t.under[gv]; a != nil {
		t.mu.Unlock()
		return a.wait(ctx, gv, ask)
	}
	if t.under == nil {
		t.under = map[schema.GroupVersion]*asked{}
	}
	a := &asked{done: make(chan struct{})}
	t.under[gv] = a
	t.mu.Unlock()

	a.list, a.err = ask(ctx, gv)
	if !t.keeps || a.err != nil {
		t.mu.Lock()
		delete(t.under, gv)
		t.mu.Unlock()
	}
	close(a.done)
	return a.list, a.err
}

func (a *asked) wait(
	ctx context.Context, gv schema.GroupVersion, ask func(context.Context, schema.GroupVersion) (listing, error),
) (listing, error) {
	select {
	case <-a.done:
	case <-ctx.Done():
		return listing{}, context.Cause(ctx)
	}
	if a.err != nil {
		return ask(ctx, gv)
	}
	return a.list, nil
}
